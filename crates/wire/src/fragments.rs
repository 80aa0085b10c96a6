//! Which flow the later fragments of a datagram belong to: only the first one carries the ports.
//!
//! The table is bounded and forgets deterministically: a datagram for 30 seconds of capture time,
//! and the oldest of a bucket when the bucket is full. A later fragment whose first one is not
//! known (not seen, seen later, or forgotten) is not guessed at.

use trustbed_units::{Ns, Span};

use crate::hash;
use crate::network::{Fragment, Network};

/// How long a datagram's fragments are waited for.
const LIFETIME: Span = Span::from_secs(30);
const BUCKETS: usize = 1024;
const SLOTS: usize = 4;

/// What the first fragment of a datagram states about all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// To a flow; `sequence` is the number that the first byte of the datagram would have, where
    /// it is known.
    Flow { protocol: u8, source_port: u16, destination_port: u16, sequence: Option<u32> },
    /// To a tunnel packet whose inside was measured with the first fragment.
    Tunnel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    source: [u8; 16],
    destination: [u8; 16],
    id: u32,
    protocol: u8,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    seen: Ns,
    belongs: Belongs,
}

/// First fragments seen lately.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fragments {
    /// Empty until the first fragment comes: most captures have none.
    buckets: Vec<[Option<Entry>; SLOTS]>,
}

impl Fragments {
    /// Remembers what a datagram's fragments belong to.
    pub(crate) fn remember(
        &mut self,
        network: &Network<'_>,
        fragment: Fragment,
        seen: Ns,
        belongs: Belongs,
    ) {
        let entry = Entry { key: key(network, fragment), seen, belongs };
        if self.buckets.is_empty() {
            self.buckets = vec![[None; SLOTS]; BUCKETS];
        }
        let Some(bucket) = self.buckets.get_mut(bucket_of(&entry.key)) else { return };
        // A bucket is kept in the order of arrival: an old entry of the same datagram or else the
        // oldest one goes.
        let leaving = bucket
            .iter()
            .position(|slot| slot.is_some_and(|old| old.key == entry.key))
            .unwrap_or(0);
        bucket[leaving..].rotate_left(1);
        bucket[SLOTS - 1] = Some(entry);
    }

    /// What a later fragment belongs to, if its first one was seen at most 30 seconds away.
    pub(crate) fn find(
        &self,
        network: &Network<'_>,
        fragment: Fragment,
        now: Ns,
    ) -> Option<Belongs> {
        let key = key(network, fragment);
        let entry =
            self.buckets.get(bucket_of(&key))?.iter().flatten().find(|entry| entry.key == key)?;
        let age = now - entry.seen;
        (age <= LIFETIME && -age <= LIFETIME).then_some(entry.belongs)
    }
}

fn key(network: &Network<'_>, fragment: Fragment) -> Key {
    Key {
        source: network.source,
        destination: network.destination,
        id: fragment.id,
        protocol: fragment.protocol,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits choose the bucket")]
fn bucket_of(key: &Key) -> usize {
    let [high, low] = [(key.id >> 16) as u16, key.id as u16];
    // Swapped by direction is harmless here: a collision shares a bucket, not an entry.
    hash::flow(&key.source, high, &key.destination, low, key.protocol) as usize % BUCKETS
}
