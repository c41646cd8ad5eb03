//! Takes an input apart for targets that want more than one thing of it.

/// What is left of an input.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next byte, which chooses something; 0 at the end.
    pub fn choice(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// What stands before the next byte 0, or all that is left.
    pub fn piece(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (piece, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        piece
    }

    /// A [`Self::piece`] that is text.
    pub fn text(&mut self) -> &'a str {
        let piece = self.piece();
        let valid = piece.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        if valid.len() == piece.len() { valid } else { "" }
    }

    /// A piece with its length, a big-endian `u16`, in front; the last may be cut.
    pub fn frame(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (frame, rest) = rest.split_at(length);
        self.0 = rest;
        Some(frame)
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// The inverse of [`Input::frame`]. Longer frames are cut.
pub fn put_frame(out: &mut Vec<u8>, frame: &[u8]) {
    let length = u16::try_from(frame.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&frame[..usize::from(length)]);
}
