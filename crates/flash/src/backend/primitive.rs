//! The parts of a command.

/// A part of a command (a "primitive" in Seong et al., Sec. 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Command and address cycles of an operation without data to send.
    Command,
    /// Reading the status of a die.
    Status,
    /// Data in, with its command and address cycles.
    DataIn,
    /// Data out, with its address cycles.
    DataOut,
    /// The command keeps the channel, although nothing crosses it.
    Hold,
    /// An array reads pages into its registers.
    Read,
    /// An array reads again because the data could not be corrected.
    Retry,
    /// An array programs pages from its registers.
    Program,
    /// An array erases a block.
    Erase,
    /// An array stops a program or an erase.
    Suspend,
    /// An array resumes a program or an erase.
    Resume,
    /// An array reads a page and then programs its content into another page.
    CopyBack,
    /// A decoder takes a codeword in.
    Decode,
}
