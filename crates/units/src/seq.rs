//! TCP sequence numbers (RFC 9293, section 3.4), unwrapped from 32 to 64 bits so that they can be
//! compared and subtracted.

/// A 32-bit TCP sequence or acknowledgement number as the header has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// The 64-bit offset nearest to `reference` whose low 32 bits are this number.
    ///
    /// ```
    /// use trustbed_units::Seq;
    /// assert_eq!(Seq(5).unwrap_near(0xffff_fffe), 0x1_0000_0005);
    /// assert_eq!(Seq(0xffff_ffff).unwrap_near(0), -1);
    /// ```
    ///
    /// `unwrap(x, ref) = ref + signed32(x − low32(ref))`: right as long as the true offset lies
    /// within 2³¹ of the reference.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "modular arithmetic is the point"
    )]
    pub const fn unwrap_near(self, reference: i64) -> i64 {
        reference.wrapping_add(self.0.wrapping_sub(reference as u32) as i32 as i64)
    }
}
