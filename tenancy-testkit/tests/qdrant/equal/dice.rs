//! Chance, the same for the same seed.

/// How many requests are made, from `TENANCY_TEST_SCALE`.
pub(crate) fn scaled(times: u64) -> u64 {
    let scale = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    (times as f64 * scale) as u64
}

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % limit
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// From -1 to 1.
    pub(crate) fn float(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn floats(&mut self, count: u64) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    /// Some of these terms, each with a weight above zero.
    pub(crate) fn terms(&mut self, of: u32) -> (Vec<u32>, Vec<f32>) {
        let kept: Vec<u32> = (0..of).filter(|_| self.once_in(3)).collect();
        let kept = if kept.is_empty() { vec![0] } else { kept };
        let weights = kept.iter().map(|_| self.float().abs() + 0.01).collect();
        (kept, weights)
    }
}
