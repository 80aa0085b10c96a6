//! The decoder: records in, packets out, or the reason why not.

use crate::fragments::Fragments;
use crate::{Batch, Record, Skip, fast, slow};

/// What the decoder looks into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Take packets out of VXLAN, GRE, Geneve and IP-in-IP tunnels, instead of measuring (or
    /// skipping) the tunnel's own.
    pub inner: bool,
}

/// Turns records into packets, in the order of the capture.
///
/// It remembers one thing from record to record: which flow the later fragments of a datagram
/// belong to, for 30 seconds of capture time in a table of 4096 datagrams. Time is the records'
/// own.
///
/// ```
/// use trustbed_units::Ns;
/// use trustbed_wire::{Batch, DecodeOptions, Decoder, LinkType, Record, Skip};
///
/// // 33 bytes, UDP, 10.0.0.1 to 10.0.0.2
/// let ip = [0x45, 0, 0, 33, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
/// let udp = [0, 53, 0x80, 0, 0, 13, 0, 0]; // port 53 to port 32768, 13 bytes
/// let bytes = [&ip[..], &udp, b"hello"].concat();
///
/// let mut decoder = Decoder::new(DecodeOptions::default());
/// let mut batch = Batch::default();
/// let mut record = Record {
///     ts: Ns(0),
///     index: 1,
///     link: LinkType::Raw,
///     interface: 0,
///     original_length: 33,
///     bytes: &bytes,
/// };
/// assert_eq!(decoder.decode(&record, &mut batch), Ok(()));
/// assert_eq!((batch.packets[0].source_port, batch.packets[0].payload), (53, 5));
///
/// record.bytes = &bytes[..24]; // a snap length that cuts the UDP header
/// assert_eq!(decoder.decode(&record, &mut batch), Err(Skip::Truncated));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    options: DecodeOptions,
    fragments: Fragments,
}

impl Decoder {
    /// A decoder that has seen nothing yet.
    pub fn new(options: DecodeOptions) -> Self {
        Self { options, fragments: Fragments::default() }
    }

    /// Appends the packet of one record to `batch`.
    ///
    /// # Errors
    ///
    /// The reason why the record is not measured; `batch` is then unchanged.
    #[inline]
    pub fn decode(&mut self, record: &Record<'_>, batch: &mut Batch) -> Result<(), Skip> {
        if fast::decode(record, self.options.inner, batch).is_some() {
            return Ok(());
        }
        self.decode_slowly(record, batch)
    }

    /// The same by the slow path alone, which decides everything. [`Decoder::decode`] asks it for
    /// what the fast path leaves, and must equal it always: property tests and fuzzing compare the
    /// two.
    ///
    /// # Errors
    ///
    /// As [`Decoder::decode`].
    #[cold]
    pub fn decode_slowly(&mut self, record: &Record<'_>, batch: &mut Batch) -> Result<(), Skip> {
        let (packet, options) = slow::decode(record, self.options, &mut self.fragments)?;
        batch.push(packet, options);
        Ok(())
    }
}
