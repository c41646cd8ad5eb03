//! The rule of `reader`, once more and in the plainest words: the whole file in memory, nothing remembered.

use std::ops::Range;

use crate::log::block::MAGIC;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stretch {
    /// From the magic to behind the trailer.
    Block(Range<usize>),
    Corrupt(Range<usize>),
    NoMagic(usize),
}

pub(super) fn stretches(file: &[u8]) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut at = 0;
    while file.len() - at >= 6 {
        if &file[at..at + 6] != MAGIC {
            found.push(Stretch::NoMagic(at));
            break;
        }
        match whole_until(file, at) {
            Some(end) => {
                found.push(Stretch::Block(at..end));
                at = end;
            }
            None => {
                let next = (at + 6..file.len()).find(|i| file[*i..].starts_with(MAGIC)).unwrap_or(file.len());
                found.push(Stretch::Corrupt(at + 6..next));
                at = next;
            }
        }
    }
    found
}

fn whole_until(file: &[u8], start: usize) -> Option<usize> {
    let length = number(file, start as i64 + 6)? as i32;
    let end = start as i64 + 14 + i64::from(length);
    if number(file, end - 8)?.checked_sub(6)? != i64::from(length) {
        return None;
    }
    let rest = &file[usize::try_from(end).ok()?..];
    (rest.len() < 6 || rest.starts_with(MAGIC)).then(|| usize::try_from(end).unwrap())
}

fn number(file: &[u8], at: i64) -> Option<i64> {
    let at = usize::try_from(at).ok()?;
    Some(i64::from_be_bytes(file.get(at..at.checked_add(8)?)?.try_into().unwrap()))
}
