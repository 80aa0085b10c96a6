//! Bins over a range that is unknown beforehand: linear within each power of two, so that the
//! number of a value's bin needs no logarithm and is the same on every machine. `F` is the
//! fineness: 2^F bins for every power of two, each at most 1/2^F of its values wide, and one for
//! each value below 2^F.

/// The number of a value's bin.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 2^F · 64 bins")]
pub const fn index<const F: u32>(value: u64) -> usize {
    if value < 1 << F {
        return value as usize;
    }
    let shift = value.ilog2() - F;
    (((shift as u64) << F) + (value >> shift)) as usize
}

/// Where in its bin a value lies, in steps of 1/2^F of the bin's width.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "less than 2^F")]
pub const fn steps<const F: u32>(value: u64) -> u32 {
    if value < 1 << F {
        return 0;
    }
    let shift = value.ilog2() - F;
    (((value & ((1 << shift) - 1)) << F) >> shift) as u32
}

/// The smallest value of a bin, and how many values it holds.
pub const fn extent<const F: u32>(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < 1 << F {
        return (index, 1);
    }
    let shift = (index >> F) - 1;
    (((1 << F) + (index & ((1 << F) - 1))) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::{extent, index, steps};
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = u64> {
        (0..64_u32, any::<u64>()).prop_map(|(shift, value)| value >> shift)
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin(value in value()) {
            let (low, width) = extent::<6>(index::<6>(value));
            prop_assert!(value >= low && value - low < width);
            prop_assert!(width == 1 || width <= value >> 6);
            let step = u128::from(steps::<6>(value));
            prop_assert_eq!(
                step,
                u128::from(value - low) * 64 / u128::from(width) * u128::from(width > 1)
            );
        }

        #[test]
        fn bins_follow_one_another(at in 0..58_usize * 128 - 1) {
            let (low, width) = extent::<7>(at);
            prop_assert_eq!(extent::<7>(at + 1).0, low + width);
            prop_assert_eq!((index::<7>(low), index::<7>(low + (width - 1))), (at, at));
        }
    }

    #[test]
    fn the_largest_value_has_a_bin() {
        let (low, width) = extent::<7>(index::<7>(u64::MAX));
        assert_eq!(u64::MAX - low, width - 1);
    }
}
