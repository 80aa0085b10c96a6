//! The special functions that confidence intervals of log energies need: digamma, trigamma, the
//! tail of the chi-square distribution.
//!
//! Asymptotic series and recurrences of Abramowitz and Stegun (*Handbook of Mathematical
//! Functions*, 1964: 6.1.41, 6.3.18, 6.4.12, 6.5.29, 6.5.31), evaluated where they are exact to
//! double precision. Arguments are positive: halves of counts.

/// The argument from which the asymptotic series are exact.
const FAR: f64 = 20.0;

/// ψ(x), the derivative of ln Γ.
pub(crate) fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < FAR {
        below -= 1.0 / x;
        x += 1.0;
    }
    let q = 1.0 / (x * x);
    below + x.ln() - 0.5 / x - q * (1.0 / 12.0 - q * (1.0 / 120.0 - q * (1.0 / 252.0 - q / 240.0)))
}

/// ψ′(x) = ζ(2, x).
pub(crate) fn trigamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < FAR {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let q = 1.0 / (x * x);
    below + 1.0 / x + 0.5 * q + q / x * (1.0 / 6.0 - q * (1.0 / 30.0 - q * (1.0 / 42.0 - q / 30.0)))
}

/// ln Γ(x).
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0_f64);
    while x < FAR {
        product *= x;
        x += 1.0;
    }
    let q = 1.0 / (x * x);
    let series = (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - product.ln()
}

/// The probability that a chi-square variable with `freedom` degrees of freedom exceeds `value`.
pub(crate) fn chi_square_tail(value: f64, freedom: f64) -> f64 {
    upper_gamma(freedom / 2.0, value / 2.0)
}

/// Γ(a, x)/Γ(a): a series below x = a + 1, a continued fraction above, where each converges
/// quickly.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        (1.0 - lower_series(a, x) * scale).max(0.0)
    } else {
        upper_fraction(a, x) * scale
    }
}

const MOST_TERMS: u32 = 1000;

/// γ(a, x)·eˣ/xᵃ as a power series.
fn lower_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for k in 1..MOST_TERMS {
        term *= x / (a + f64::from(k));
        sum += term;
        if term < sum * f64::EPSILON / 8.0 {
            break;
        }
    }
    sum
}

/// Γ(a, x)·eˣ/xᵃ as a continued fraction, evaluated forwards (W. J. Lentz, Applied Optics 15(3),
/// 1976).
fn upper_fraction(a: f64, x: f64) -> f64 {
    let mut partial = x + 1.0 - a;
    let (mut ratio_above, mut ratio_below) = (f64::MAX.sqrt(), 1.0 / partial);
    let mut fraction = ratio_below;
    for k in 1..MOST_TERMS {
        let k = f64::from(k);
        let numerator = k * (a - k);
        partial += 2.0;
        ratio_below = 1.0 / (numerator * ratio_below + partial);
        ratio_above = partial + numerator / ratio_above;
        let change = ratio_below * ratio_above;
        fraction *= change;
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::{chi_square_tail, digamma, ln_gamma, trigamma};

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-13 * expected.abs().max(1.0)
    }

    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let (pi, ln2) = (std::f64::consts::PI, std::f64::consts::LN_2);
        assert!(near(digamma(1.0), -EULER));
        assert!(near(digamma(0.5), -EULER - 2.0 * ln2));
        assert!(near(trigamma(1.0), pi * pi / 6.0));
        assert!(near(trigamma(0.5), pi * pi / 2.0));
        assert!(near(ln_gamma(0.5), pi.sqrt().ln()));
        assert!(near(ln_gamma(11.0), 3_628_800_f64.ln()));
    }

    #[test]
    fn recurrences_hold_across_the_switch() {
        for n in 1..100 {
            let x = f64::from(n) / 2.0;
            assert!(near(digamma(x + 1.0), digamma(x) + 1.0 / x));
            assert!(near(trigamma(x + 1.0), trigamma(x) - 1.0 / (x * x)));
            assert!(near(ln_gamma(x + 1.0), ln_gamma(x) + x.ln()));
        }
    }

    #[test]
    fn chi_square_of_two_and_four_degrees_has_closed_forms() {
        for n in 1..200 {
            let x = f64::from(n) / 4.0;
            let (two, four) = ((-x / 2.0).exp(), (-x / 2.0).exp() * (1.0 + x / 2.0));
            assert!((chi_square_tail(x, 2.0) / two - 1.0).abs() < 1e-12, "{x}");
            assert!((chi_square_tail(x, 4.0) / four - 1.0).abs() < 1e-12, "{x}");
        }
        assert!(near(chi_square_tail(3.841_458_820_694_124, 1.0), 0.05));
        assert!(near(chi_square_tail(0.0, 3.0), 1.0));
    }
}
