//! Ancillary messages of a packet (cmsg(3)): level, type and content.

use trustbed_units::Ns;

const HEADER: usize = size_of::<libc::cmsghdr>();

/// The messages in a control buffer: each is a length (of all), a level and a type, then its
/// content; the next begins at a multiple of 8. They end where one is damaged.
pub(crate) fn messages(
    mut control: &[u8],
) -> impl Iterator<Item = (libc::c_int, libc::c_int, &[u8])> {
    const _: () = assert!(
        HEADER == 16
            && std::mem::offset_of!(libc::cmsghdr, cmsg_level) == 8
            && std::mem::offset_of!(libc::cmsghdr, cmsg_type) == 12
    );
    std::iter::from_fn(move || {
        let (header, rest) = control.split_first_chunk::<HEADER>()?;
        let length = usize::from_ne_bytes(part(header, 0));
        let content = rest.get(..length.checked_sub(HEADER)?)?;
        control = control.get(length.next_multiple_of(8)..).unwrap_or_default();
        Some((i32::from_ne_bytes(part(header, 8)), i32::from_ne_bytes(part(header, 12)), content))
    })
}

/// The first time in a content, by the real-time clock; none when it is too short for one.
pub(crate) fn time(content: &[u8]) -> Option<Ns> {
    let whole = content.first_chunk::<16>()?;
    let (seconds, nanoseconds) =
        (i64::from_ne_bytes(part(whole, 0)), i64::from_ne_bytes(part(whole, 8)));
    Some(Ns(seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)))
}

/// Some bytes from an offset on; zeros where they are not all there.
pub(crate) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// A message as the kernel writes it.
#[cfg(test)]
pub(crate) fn message(level: i32, kind: i32, content: &[u8]) -> Vec<u8> {
    let mut made = (HEADER + content.len()).to_ne_bytes().to_vec();
    made.extend(level.to_ne_bytes());
    made.extend(kind.to_ne_bytes());
    made.extend(content);
    made.resize(made.len().next_multiple_of(8), 0);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_follow_one_another_until_one_is_damaged() {
        let two = [message(1, 2, b"three"), message(4, 5, &[6; 16])].concat();
        assert_eq!(
            messages(&two).collect::<Vec<_>>(),
            [(1, 2, &b"three"[..]), (4, 5, &[6_u8; 16][..])]
        );
        assert_eq!(messages(&two[..two.len() - 1]).count(), 1);
        for damaged in [&[][..], &[0; 40], &[255; 40]] {
            assert_eq!(messages(damaged).count(), 0);
        }
    }

    #[test]
    fn a_time_is_seconds_and_nanoseconds() {
        let bytes: Vec<u8> = [7_i64, 5, 0, 0].iter().flat_map(|part| part.to_ne_bytes()).collect();
        assert_eq!((time(&bytes), time(&bytes[..15])), (Some(Ns(7_000_000_005)), None));
    }
}
