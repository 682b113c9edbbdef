//! Opcodes. Bits 1:0 say which way data go (NVMe base 2.0, figure 88).

/// The opcode of all Fabrics commands; their type is in byte 4 (NVMe base 2.0, section 6).
pub const FABRICS: u8 = 0x7f;

/// Admin commands (NVMe base 2.0, figure 138).
pub mod admin {
    /// Delete I/O Submission Queue: not a command of NVMe over Fabrics.
    pub const DELETE_IO_SQ: u8 = 0x00;
    /// Create I/O Submission Queue: not a command of NVMe over Fabrics.
    pub const CREATE_IO_SQ: u8 = 0x01;
    /// Get Log Page: reads a part of a log page.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Identify: reads a data structure about the controller or a namespace.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort: asks the controller to end an outstanding command.
    pub const ABORT: u8 = 0x08;
    /// Set Features: changes the value of a feature.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get Features: reads the value of a feature.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Asynchronous Event Request: stays outstanding until an event happens.
    pub const ASYNC_EVENT_REQUEST: u8 = 0x0c;
    /// Namespace Management: creates or deletes a namespace.
    pub const NAMESPACE_MANAGEMENT: u8 = 0x0d;
    /// Firmware Commit: activates a firmware image.
    pub const FIRMWARE_COMMIT: u8 = 0x10;
    /// Firmware Image Download: sends a part of a firmware image.
    pub const FIRMWARE_DOWNLOAD: u8 = 0x11;
    /// Device Self-test: begins or aborts a self-test.
    pub const DEVICE_SELF_TEST: u8 = 0x14;
    /// Namespace Attachment: attaches a namespace to controllers, or detaches it.
    pub const NAMESPACE_ATTACHMENT: u8 = 0x15;
    /// Keep Alive: restarts the keep alive timer.
    pub const KEEP_ALIVE: u8 = 0x18;
    /// Directive Send: enables a directive, or changes its state.
    pub const DIRECTIVE_SEND: u8 = 0x19;
    /// Directive Receive: reads the state of a directive.
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    /// Format NVM: erases a namespace, or all of them.
    pub const FORMAT_NVM: u8 = 0x80;
    /// Sanitize: erases all data of the subsystem for good.
    pub const SANITIZE: u8 = 0x84;
}

/// I/O commands (NVM 1.0, section 3; ZNS 1.1, figure 12; TP4146 for I/O management).
pub mod io {
    /// Flush: makes completed writes durable.
    pub const FLUSH: u8 = 0x00;
    /// Write: the host sends the data.
    pub const WRITE: u8 = 0x01;
    /// Read: the controller sends the data.
    pub const READ: u8 = 0x02;
    /// Write Uncorrectable: marks blocks so that reads of them fail.
    pub const WRITE_UNCORRECTABLE: u8 = 0x04;
    /// Compare: compares blocks with data of the host.
    pub const COMPARE: u8 = 0x05;
    /// Write Zeroes: writes zeros without data from the host.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Dataset Management: deallocates ranges, or gives hints on them.
    pub const DATASET_MANAGEMENT: u8 = 0x09;
    /// Verify: reads blocks without sending their data.
    pub const VERIFY: u8 = 0x0c;
    /// I/O Management Receive: reads the status of reclaim unit handles.
    pub const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
    /// Copy: copies ranges of blocks inside the subsystem.
    pub const COPY: u8 = 0x19;
    /// I/O Management Send: gives reclaim unit handles new reclaim units.
    pub const IO_MANAGEMENT_SEND: u8 = 0x1d;
    /// Zone Management Send: changes the state of zones.
    pub const ZONE_MANAGEMENT_SEND: u8 = 0x79;
    /// Zone Management Receive: reports the state of zones.
    pub const ZONE_MANAGEMENT_RECEIVE: u8 = 0x7a;
    /// Zone Append: writes at a zone's write pointer, and returns the address.
    pub const ZONE_APPEND: u8 = 0x7d;
}

/// Types of Fabrics commands (NVMe base 2.0, section 6). Bits 1:0 say which way data go, too.
pub mod fabrics {
    /// Property Set: writes a property of the controller.
    pub const PROPERTY_SET: u8 = 0x00;
    /// Connect: makes the connection a queue of a controller.
    pub const CONNECT: u8 = 0x01;
    /// Property Get: reads a property of the controller.
    pub const PROPERTY_GET: u8 = 0x04;
    /// Authentication Send: sends a message of an authentication protocol.
    pub const AUTHENTICATION_SEND: u8 = 0x05;
    /// Authentication Receive: reads a message of an authentication protocol.
    pub const AUTHENTICATION_RECEIVE: u8 = 0x06;
    /// Disconnect: ends an I/O queue without the end of its controller.
    pub const DISCONNECT: u8 = 0x08;
}
