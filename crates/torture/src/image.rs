//! The image of a recovered drive: a sparse file with the bytes of every sector.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use base::units::Sectors;
use flash::nand::Stamp;

use crate::extents::Extents;
use crate::journal::{Journal, RequestKind};
use crate::recovered::RecoveredDrive;
use crate::stamp::{Origin, origin};

/// Bytes of a sector.
const SECTOR: u64 = base::units::SECTOR.get();

/// The file of a journal, which has the content of its writes.
#[derive(Clone, Debug)]
pub struct DriveContents {
    path: PathBuf,
}

/// Consecutive sectors whose bytes are consecutive in the journal and in the image.
struct ContentPiece {
    to: u64,
    from: u64,
    bytes: u64,
}

impl DriveContents {
    /// The content in the journal at `path`.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Writes the image of a drive of this capacity. A sector that cannot be read is zeros in the image.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(crate) fn write_image(
        &self,
        (journal, extents): (&Journal, &Extents),
        recovered: &RecoveredDrive,
        capacity: Sectors,
        to: &mut File,
    ) -> io::Result<()> {
        let mut from = File::open(&self.path)?;
        to.set_len(capacity.bytes().get())?;
        let mut buffer = Vec::new();
        let mut pending: Option<ContentPiece> = None;
        for (sector, stamp) in extents.sectors().zip(recovered.stamps()) {
            let Some(place) = place(journal, *stamp) else { continue };
            let at = sector.get() * SECTOR;
            match &mut pending {
                Some(piece) if piece.to + piece.bytes == at && piece.from + piece.bytes == place => {
                    piece.bytes += SECTOR;
                }
                pending => {
                    if let Some(piece) = pending.replace(ContentPiece { to: at, from: place, bytes: SECTOR }) {
                        copy(&mut from, to, &piece, &mut buffer)?;
                    }
                }
            }
        }
        pending.map_or(Ok(()), |piece| copy(&mut from, to, &piece, &mut buffer))
    }
}

/// The offset of a sector's content in the journal; `None` if the content is zeros.
fn place(journal: &Journal, stamp: Option<Stamp>) -> Option<u64> {
    let Origin::Request { of, offset } = origin(stamp?) else { return None };
    let asked = journal.requests.get(of as usize)?;
    matches!(asked.kind, RequestKind::Write { .. }).then(|| asked.content + offset * SECTOR)
}

fn copy(from: &mut File, to: &mut File, piece: &ContentPiece, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.resize(piece.bytes as usize, 0);
    from.seek(SeekFrom::Start(piece.from))?;
    from.read_exact(buffer)?;
    to.seek(SeekFrom::Start(piece.to))?;
    to.write_all(buffer)
}
