//! Memory (`/proc/meminfo`, proc(5)). In a container it is that of the whole host.

use std::fs;
use std::io;

use serde::Serialize;

/// Memory now. Fields that a kernel lacks are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_field_names, reason = "outside, names carry their unit")]
pub(super) struct Memory {
    total_bytes: Option<u64>,
    free_bytes: Option<u64>,
    /// Available without swapping.
    available_bytes: Option<u64>,
}

impl Memory {
    pub(super) fn look() -> io::Result<Self> {
        Ok(Self::read(&fs::read_to_string("/proc/meminfo")?))
    }

    fn read(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(':') else { continue };
            let kilobytes =
                || rest.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            let slot = match name {
                "MemTotal" => &mut found.total_bytes,
                "MemFree" => &mut found.free_bytes,
                "MemAvailable" => &mut found.available_bytes,
                _ => continue,
            };
            *slot = kilobytes().map(|number| number.saturating_mul(1024));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let found = Memory::read(
            "MemTotal:       16 kB\nMemFree:  3 kB\nBuffers: 1 kB\nHugePages_Total:   0\n\
             nonsense\n",
        );
        assert_eq!(
            found,
            Memory { total_bytes: Some(16_384), free_bytes: Some(3_072), available_bytes: None }
        );
    }
}
