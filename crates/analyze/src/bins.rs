//! A histogram's bins as they grow: those between the smallest and the largest value seen, numbered
//! by `trustbed_units::bins`.

pub(crate) use trustbed_units::bins::{index, steps};

/// The values `[low, high)` that fall into a bin.
pub(crate) fn edges<const F: u32>(index: usize) -> (u64, u64) {
    let (low, width) = trustbed_units::bins::extent::<F>(index);
    (low, low.saturating_add(width))
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
