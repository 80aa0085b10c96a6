//! The names of system calls, numbered in the order in which they are met.

use hashbrown::HashTable;

use crate::CallsError;

/// Names and their numbers.
///
/// ```
/// # use trustbed_calls::Alphabet;
/// let mut alphabet = Alphabet::default();
/// assert_eq!(alphabet.intern("read"), Ok(0));
/// assert_eq!(alphabet.intern("close"), Ok(1));
/// assert_eq!(alphabet.intern("read"), Ok(0));
/// assert_eq!(alphabet.name(1), Some("close"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Alphabet {
    names: Vec<String>,
    by_name: HashTable<u16>,
}

impl Alphabet {
    /// Names there can be.
    pub const MOST: usize = 1 << 16;

    /// The number of a name, a new one if it was never met.
    ///
    /// # Errors
    ///
    /// [`CallsError::TooManyNames`] beyond [`Alphabet::MOST`].
    pub fn intern(&mut self, name: &str) -> Result<u16, CallsError> {
        if let Some(call) = self.call(name) {
            return Ok(call);
        }
        let call = u16::try_from(self.names.len())
            .map_err(|_| CallsError::TooManyNames { bound: Self::MOST, name: name.to_owned() })?;
        self.names.push(name.to_owned());
        let names = &self.names;
        self.by_name.insert_unique(hash(name), call, |call| hash(&names[usize::from(*call)]));
        Ok(call)
    }

    /// The number of a name that was met.
    pub fn call(&self, name: &str) -> Option<u16> {
        let same = |call: &u16| self.names[usize::from(*call)] == name;
        self.by_name.find(hash(name), same).copied()
    }

    /// The name of a number.
    pub fn name(&self, call: u16) -> Option<&str> {
        self.names.get(usize::from(call)).map(String::as_str)
    }

    /// Every name, by its number.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// FNV-1a with its bits mixed: names are short, and the order of a map must not depend on entropy.
fn hash(name: &str) -> u64 {
    let fnv = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    fnv ^ (fnv >> 32)
}
