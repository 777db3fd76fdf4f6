//! A hash for seeds and random numbers.

/// The increment of the sequence of `SplitMix64`: the golden ratio in 64 bits.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
pub const fn mix_bits(mut z: u64) -> u64 {
    z = z.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns the upper 53 bits, which are all that a `f64` holds, as a number from 0 to below 1.
pub fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
