//! Bins over a range that nobody knows beforehand: linear within each power of two, so that the number of a value's bin needs no
//! logarithm and is the same on every machine. `F` is the fineness: 2^F bins per power of two, a bin at most 1/2^F of its value wide.

/// The number of a value's bin.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 2^F · 64 bins")]
pub(crate) fn index<const F: u32>(value: u64) -> usize {
    if value < 1 << F {
        return value as usize;
    }
    let shift = value.ilog2() - F;
    ((u64::from(shift) << F) + (value >> shift)) as usize
}

/// Where in its bin a value lies, in steps of 1/2^F of the bin's width.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "less than 2^F")]
pub(crate) fn steps<const F: u32>(value: u64) -> u32 {
    if value < 1 << F {
        return 0;
    }
    let shift = value.ilog2() - F;
    (((value & ((1 << shift) - 1)) << F) >> shift) as u32
}

/// The values `[low, high)` that fall into a bin.
pub(crate) fn edges<const F: u32>(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < 1 << F {
        return (index, index + 1);
    }
    let shift = (index >> F) - 1;
    let low = ((1 << F) + (index & ((1 << F) - 1))) << shift;
    (low, low.saturating_add(1 << shift))
}

/// Makes room for bin `at` with some to spare on that side.
#[cold]
pub(crate) fn grow<T: Copy + Default>(bins: &mut Box<[T]>, first: &mut usize, at: usize) {
    const SPARE: usize = 16;
    let (from, to) = if bins.is_empty() {
        (at.saturating_sub(SPARE / 2), at + SPARE / 2)
    } else if (*first..*first + bins.len()).contains(&at) {
        return;
    } else if at < *first {
        (at.saturating_sub(SPARE), *first + bins.len())
    } else {
        (*first, at + SPARE)
    };
    let mut wider = vec![T::default(); to - from];
    if !bins.is_empty() {
        wider[*first - from..*first - from + bins.len()].copy_from_slice(bins);
    }
    *bins = wider.into_boxed_slice();
    *first = from;
}
