"""A first run: a drive, a workload, and what came out.

python first_run.py
"""

import flashloom

# A drive that comes with Flashloom, made smaller. `flashloom.devices()` names the others.
device = flashloom.Device("demo").set("flash.blocks", 26).set("ftl.capacity", "100MiB")
outcome = flashloom.run(device, "oltp", precondition="fill", warm_up=500, limit=2000, verify=True, explain=True)

summary = outcome.summary
for kind in ("read", "write"):
    latency = summary.kinds[kind].latency_us
    print(f"{kind}: {summary.kinds[kind].requests} requests, {latency['p50']:.1f} us, p99 {latency['p99']:.1f} us")
print(f"write amplification {summary.write_amplification:.2f}")

# Where the time of a read went, on average.
for kind in summary.explained:
    if kind.kind == "read":
        parts = next(band for band in kind.bands if band.band == "all").parts_us
        print("of a read's time:", ", ".join(f"{name} {us:.1f} us" for name, us in parts.items()))

# Twice the dies: the same requests, another drive.
wide = flashloom.run(device.copy().set("flash.channels", 8), "oltp", precondition="fill", warm_up=500, limit=2000)
print(f"with 8 channels: read p99 {wide.summary.kinds['read'].latency_us['p99']:.1f} us")
