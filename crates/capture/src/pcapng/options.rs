//! The lists of options at the end of blocks.

use std::borrow::Cow;

use super::order::Words;
use crate::frame::Direction;

const EPB_FLAGS: u16 = 2;
const EPB_DROPCOUNT: u16 = 4;
const EPB_PACKETID: u16 = 5;
const EPB_QUEUE: u16 = 6;
const IF_SPEED: u16 = 8;
const IF_TZONE: u16 = 10;
const IF_TXSPEED: u16 = 16;
const IF_RXSPEED: u16 = 17;
/// Options of others: each begins with the number of the enterprise that defined it.
const CUSTOM: [u16; 4] = [2988, 2989, 19372, 19373];

/// Texts longer than this are cut: they are for people, and a file may hold many.
const TEXT_LENGTH: usize = 256;

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockOption<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
}

impl BlockOption<'_> {
    /// The value as a text for people: without what follows a zero byte, with replacements for what
    /// is no UTF-8.
    pub(super) fn text(&self) -> Option<String> {
        let value = self.value.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut text = String::from_utf8_lossy(&value[..value.len().min(TEXT_LENGTH)]).into_owned();
        text.shrink_to_fit();
        (!text.is_empty()).then_some(text)
    }
}

/// The options in the tail of a block's body.
#[derive(Debug)]
pub(super) struct Options<'a, const BIG: bool> {
    rest: &'a [u8],
    overrun: bool,
}

impl<'a, const BIG: bool> Options<'a, BIG> {
    pub(super) fn new(tail: &'a [u8]) -> Self {
        Self { rest: tail, overrun: false }
    }

    /// Whether an option claimed more bytes than the block has.
    pub(super) fn overrun(&self) -> bool {
        self.overrun
    }
}

impl<'a, const BIG: bool> Iterator for Options<'a, BIG> {
    type Item = BlockOption<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let code = Words::<BIG>::half(self.rest, 0)?;
        let length = usize::from(Words::<BIG>::half(self.rest, 2)?);
        if code == 0 {
            self.rest = &[];
            return None;
        }
        let Some(value) = self.rest.get(4..4 + length) else {
            self.rest = &[];
            self.overrun = true;
            return None;
        };
        self.rest = self.rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some(BlockOption { code, value })
    }
}

/// What the options of an enhanced packet block state of its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PacketOptions {
    /// Packets lost before this one.
    pub(super) drops: Option<u64>,
    pub(super) direction: Direction,
}

impl PacketOptions {
    #[inline]
    pub(super) fn read<const BIG: bool>(options: &[u8]) -> Self {
        if options.is_empty() {
            return Self::default();
        }
        // The flags alone are what writers of both directions put there, before every packet.
        let flags_alone = if BIG { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        match options {
            [a, b, c, d, _, _, _, _, 0, 0, 0, 0] if [*a, *b, *c, *d] == flags_alone => {
                let flags = Words::<BIG>::word(options, 4).unwrap_or(0);
                Self { drops: None, direction: Direction::from_flags(flags) }
            }
            _ => Self::read_all::<BIG>(options),
        }
    }

    #[inline(never)]
    fn read_all<const BIG: bool>(options: &[u8]) -> Self {
        let mut found = Self::default();
        for option in Options::<BIG>::new(options) {
            match option.code {
                EPB_FLAGS => {
                    found.direction = Words::<BIG>::word(option.value, 0)
                        .map_or(found.direction, Direction::from_flags);
                }
                // The first one counts.
                EPB_DROPCOUNT if found.drops.is_none() => {
                    found.drops = Words::<BIG>::long(option.value, 0);
                }
                _ => {}
            }
        }
        found
    }
}

/// The options of a packet's block as the file holds them; of a format without options, none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameOptions<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> FrameOptions<'a> {
    /// No option at all.
    pub(crate) const NONE: Self = Self { bytes: &[], big: false };

    #[inline]
    pub(crate) const fn new<const BIG: bool>(bytes: &'a [u8]) -> Self {
        Self { bytes, big: BIG }
    }

    /// Shows code and value of each option, numbers in little-endian order.
    pub(crate) fn each_little(self, mut see: impl FnMut(u16, &[u8])) {
        if self.big {
            for option in Options::<true>::new(self.bytes) {
                see(option.code, &little(option, packet_number(option.code)));
            }
        } else {
            for option in Options::<false>::new(self.bytes) {
                see(option.code, option.value);
            }
        }
    }
}

/// Bytes of the number that an option of a packet's block begins with.
fn packet_number(code: u16) -> usize {
    match code {
        EPB_FLAGS | EPB_QUEUE => 4,
        EPB_DROPCOUNT | EPB_PACKETID => 8,
        _ => custom_number(code),
    }
}

fn custom_number(code: u16) -> usize {
    if CUSTOM.contains(&code) { 4 } else { 0 }
}

/// Code and value of an option of an interface's description, numbers in little-endian order.
pub(super) fn kept<const BIG: bool>(option: BlockOption<'_>) -> (u16, Vec<u8>) {
    let number = match option.code {
        IF_TZONE => 4,
        IF_SPEED | IF_TXSPEED | IF_RXSPEED => 8,
        code => custom_number(code),
    };
    (option.code, little(option, if BIG { number } else { 0 }).into_owned())
}

/// The value of an option, of which so many bytes are turned round.
fn little(option: BlockOption<'_>, number: usize) -> Cow<'_, [u8]> {
    let mut value = Cow::Borrowed(option.value);
    if number > 0 && number <= value.len() {
        value.to_mut()[..number].reverse();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_their_end_mark_or_where_the_block_does() {
        let bytes =
            [1, 0, 3, 0, b'a', b'b', b'c', 0, 2, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0];
        let found: Vec<_> = Options::<false>::new(&bytes).collect();
        assert_eq!(
            found,
            [BlockOption { code: 1, value: b"abc" }, BlockOption { code: 2, value: &[9] }]
        );

        let mut options = Options::<false>::new(&[1, 0, 200, 0, 1, 2]);
        assert_eq!(options.next(), None);
        assert!(options.overrun());
    }

    #[test]
    fn texts_are_for_people() {
        assert_eq!(BlockOption { code: 2, value: b"eth0\0\0" }.text().as_deref(), Some("eth0"));
        assert_eq!(BlockOption { code: 2, value: b"" }.text(), None);
        assert_eq!(
            BlockOption { code: 2, value: &[0xff, b'x'] }.text().as_deref(),
            Some("\u{fffd}x")
        );
    }
    #[test]
    fn options_of_both_byte_orders_are_shown_alike() {
        let big = [
            &[0, 1, 0, 2, b'h', b'i', 0, 0][..],
            &[0, 2, 0, 4, 0, 0, 1, 2],
            &[0, 4, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7],
            &[0x0b, 0xac, 0, 5, 0, 0, 0x80, 1, b'x', 0, 0, 0],
            &[0; 4],
        ]
        .concat();
        let mut shown = Vec::new();
        FrameOptions::new::<true>(&big).each_little(|code, value| {
            shown.push((code, value.to_vec()));
        });
        let expected = [
            (1, b"hi".to_vec()),
            (2, vec![2, 1, 0, 0]),
            (4, vec![7, 0, 0, 0, 0, 0, 0, 0]),
            (2988, vec![1, 0x80, 0, 0, b'x']),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn flags_alone_read_like_flags_among_others() {
        for flags in 0..4 {
            let little = [&[2, 0, 4, 0, flags, 0, 0, 0][..], &[0; 4]].concat();
            let big = [&[0, 2, 0, 4, 0, 0, 0, flags][..], &[0; 4]].concat();
            assert_eq!(
                PacketOptions::read::<false>(&little),
                PacketOptions::read_all::<false>(&little)
            );
            assert_eq!(PacketOptions::read::<true>(&big), PacketOptions::read_all::<true>(&big));
            assert_eq!(
                PacketOptions::read::<true>(&big).direction,
                Direction::from_flags(flags.into())
            );
        }
        let drops = [4, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        let both = [&drops[..], &[2, 0, 4, 0, 2, 0, 0, 0]].concat();
        assert_eq!(
            PacketOptions::read::<false>(&both),
            PacketOptions { drops: Some(7), direction: Direction::Outbound }
        );
    }
}
