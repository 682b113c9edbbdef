// Shows the name of a file above its block: a page has it behind the language, ```toml drive.toml.
for (const code of document.querySelectorAll("pre > code")) {
  const name = [...code.classList].find(word => /^[a-z-]+\.(toml|csv|fio|trace)$/.test(word));
  if (name) {
    const caption = document.createElement("div");
    caption.textContent = name;
    caption.style.cssText = "font-size: 0.8em; font-weight: 600; opacity: 0.8; margin-block-end: -0.8em";
    code.parentElement.before(caption);
  }
}

// A block or a table that scrolls sideways takes the focus, so that the arrow keys scroll it.
for (const box of document.querySelectorAll("pre > code, .table-wrapper")) {
  if (box.scrollWidth > box.clientWidth) {
    box.tabIndex = 0;
  }
}
