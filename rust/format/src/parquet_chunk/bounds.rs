//! Bounds that are cut short: long texts would fill footers.

use std::str;

/// Something below, of so many bytes at most. `None` if it is as short already.
pub(super) fn shorter_below(bytes: &[u8], most: usize, is_text: bool) -> Option<Vec<u8>> {
    if bytes.len() <= most {
        return None;
    }
    match str::from_utf8(bytes) {
        Ok(text) if is_text => {
            let end = (1..=most).rfind(|end| text.is_char_boundary(*end))?;
            text.get(..end).map(|text| text.as_bytes().to_vec())
        }
        _ => bytes.get(..most).map(<[u8]>::to_vec),
    }
}

/// Something above. `None` also if there is nothing so short, as above the greatest characters of all.
pub(super) fn shorter_above(bytes: &[u8], most: usize, is_text: bool) -> Option<Vec<u8>> {
    if bytes.len() <= most {
        return None;
    }
    match str::from_utf8(bytes) {
        Ok(text) if is_text => {
            let end = (most.saturating_sub(3)..=most).rfind(|end| text.is_char_boundary(*end))?;
            next_text(text.get(..end)?)
        }
        _ => next_bytes(bytes.get(..most)?),
    }
}

/// The least text that is greater than all that begin with this one, of characters that take as many bytes.
fn next_text(text: &str) -> Option<Vec<u8>> {
    text.char_indices().rev().find_map(|(at, last)| {
        let next = char::from_u32(u32::from(last) + 1).filter(|next| next.len_utf8() == last.len_utf8())?;
        let mut bytes = text.as_bytes().get(..at)?.to_vec();
        bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
        Some(bytes)
    })
}

/// The least bytes of this length that are greater than all that begin with these.
fn next_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut next = bytes.to_vec();
    for byte in next.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte > 0 {
            return Some(next);
        }
    }
    None
}
