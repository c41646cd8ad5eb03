mod damage;
mod deletes;
mod java;
mod model;
mod push;
mod vectors;

use super::*;

/// Bytes from hexadecimal text with blanks.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).unwrap() as u8).collect();
    assert!(digits.len().is_multiple_of(2));
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Scans bytes that must hold exactly one whole block.
fn only_block(bytes: &[u8]) -> BlockRef<'_> {
    let scanned: Vec<_> = scan(bytes).map(|item| item.unwrap()).collect();
    match scanned.as_slice() {
        [Scanned::Block(block)] => block.clone(),
        other => panic!("one block expected: {other:?}"),
    }
}

fn deletes(content: &[u8], offset: u64) -> crate::Result<Vec<DeleteRecord>> {
    delete::records(content, offset)?.collect()
}
