//! Random numbers from a seed: the same on every machine and in every version.

/// A stream of numbers (SplitMix64). Not for secrets.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    /// The stream of this seed. Neighbouring seeds give unrelated streams.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Self { state: seed };
        random.state = random.next_bits() ^ seed.rotate_left(32);
        random
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below this one; 0 if it is 0.
    pub fn draw_below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next_bits()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub fn draw_between(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw_below(high.saturating_sub(low).saturating_add(1))
    }

    /// A small number from `low` to `high`, both included.
    pub fn draw_small(&mut self, low: u8, high: u8) -> u8 {
        u8::try_from(self.draw_between(u64::from(low), u64::from(high))).unwrap_or(high)
    }

    pub fn draw_percent(&mut self, percent: u64) -> bool {
        self.draw_below(100) < percent
    }

    pub fn draw_permille(&mut self, permille: u64) -> bool {
        self.draw_below(1_000) < permille
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.draw_below(all.len() as u64)).unwrap_or(0);
        all.get(index)
    }

    pub fn choose<T: Copy, const N: usize>(&mut self, all: [T; N]) -> T {
        const { assert!(N > 0, "nothing to choose from") };
        let index = usize::try_from(self.draw_below(N as u64)).unwrap_or(0);
        match all.get(index) {
            Some(one) => *one,
            None => unreachable!("the index is below the length"),
        }
    }
}
