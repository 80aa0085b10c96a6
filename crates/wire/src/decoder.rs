//! The decoder: records in, packets out, or the reason why not.

use crate::fragments::Fragments;
use crate::{Batch, Record, Skip, fast, slow};

/// What the decoder looks into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Take packets out of VXLAN, GRE, Geneve and IP-in-IP tunnels, instead of measuring (or skipping) the tunnel's own.
    pub inner: bool,
}

/// Turns records into packets.
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

    /// The slow path, which decides everything by itself. [`Decoder::decode`] must equal it; the property tests call it for that.
    ///
    /// # Errors
    ///
    /// As [`Decoder::decode`].
    #[doc(hidden)]
    #[cold]
    pub fn decode_slowly(&mut self, record: &Record<'_>, batch: &mut Batch) -> Result<(), Skip> {
        let (packet, options) = slow::decode(record, self.options, &mut self.fragments)?;
        batch.push(packet, options);
        Ok(())
    }
}
