//! Which place of a dictionary a value has: a hash table that holds places, and knows nothing of values.

/// Says of no place.
const FREE: u32 = u32::MAX;
const FIRST_SLOTS: usize = 1 << 8;

/// Values that are looked up together. All their slots are read before one of them matters: a processor waits for memory once
/// then, not once a value.
pub(super) const TOGETHER: usize = 64;

/// Of values that are looked up together.
pub(super) struct Likely {
    hashes: [u64; TOGETHER],
    places: [u32; TOGETHER],
}

#[derive(Clone, Copy)]
struct Slot {
    /// Of the value's hash, so that other values are hardly ever looked at, nor any when the table grows.
    tag: u32,
    place: u32,
}

/// Half of the slots are free at least.
pub(super) struct Slots {
    slots: Vec<Slot>,
    taken: usize,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self { slots: vec![Slot { tag: 0, place: FREE }; FIRST_SLOTS], taken: 0 }
    }

    /// The places that some values seem to have, as long as no slot but theirs was looked at.
    #[inline(always)]
    pub(super) fn likely(&self, of_values: impl Iterator<Item = u64>) -> Likely {
        let mut likely = Likely { hashes: [0; TOGETHER], places: [FREE; TOGETHER] };
        likely.hashes.iter_mut().zip(of_values).for_each(|(place, hash)| *place = hash);
        let mask = self.slots.len() - 1;
        for (place, hash) in likely.places.iter_mut().zip(&likely.hashes) {
            let tag = (hash >> 32) as u32;
            let slot = self.slots.get(tag as usize & mask);
            *place = slot.filter(|slot| slot.tag == tag).map_or(FREE, |slot| slot.place);
        }
        likely
    }

    /// The place of a value, which is `next` if it has none yet.
    #[inline]
    pub(super) fn place(&mut self, hash: u64, next: u32, is_there: impl Fn(u32) -> bool) -> u32 {
        let tag = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let Some(slot) = self.slots.get_mut(at) else { return next };
            if slot.place == FREE {
                *slot = Slot { tag, place: next };
                break;
            }
            if slot.tag == tag && is_there(slot.place) {
                return slot.place;
            }
            at = (at + 1) & mask;
        }
        self.taken += 1;
        if self.taken * 2 > self.slots.len() {
            self.grow();
        }
        next
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![Slot { tag: 0, place: FREE }; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for taken in self.slots.iter().filter(|slot| slot.place != FREE) {
            let mut at = taken.tag as usize & mask;
            while slots.get(at).is_some_and(|slot| slot.place != FREE) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = *taken;
            }
        }
        self.slots = slots;
    }
}

impl Likely {
    /// Of each value its hash, and its place if it seems to have one.
    #[inline(always)]
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, Option<u32>)> {
        self.hashes.iter().zip(&self.places).map(|(hash, place)| (*hash, (*place != FREE).then_some(*place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_place_also_where_all_hashes_are_the_same() {
        for hash in [|value: u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15), |_| 7, |value| (value % 3) << 32] {
            let mut slots = Slots::new();
            let mut places: Vec<u64> = Vec::new();
            for value in (0..1000).chain(0..2000) {
                let next = places.len() as u32;
                let place = slots.place(hash(value), next, |place| places[place as usize] == value);
                if place == next {
                    places.push(value);
                }
                assert_eq!(places[place as usize], value);
            }
            assert_eq!(places.len(), 2000);
        }
    }
    #[test]
    fn a_value_in_its_own_slot_is_found_at_the_first_look() {
        let mut slots = Slots::new();
        let hash = |value: u32| u64::from(value) << 32;
        let seen = |slots: &Slots| -> Vec<Option<u32>> {
            slots.likely((0..3).chain([9]).map(hash)).each().take(4).map(|(_, place)| place).collect()
        };
        assert_eq!(seen(&slots), [None; 4]);
        (0..3).for_each(|value| assert_eq!(slots.place(hash(value), value, |_| false), value));
        assert_eq!(seen(&slots), [Some(0), Some(1), Some(2), None]);
        (10..300).for_each(|value| assert_eq!(slots.place(hash(value), value, |_| false), value));
        assert_eq!(seen(&slots), [Some(0), Some(1), Some(2), None]);
    }
}
