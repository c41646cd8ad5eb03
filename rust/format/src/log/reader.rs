//! The reader: bytes in, blocks and rows out; it does no input of its own.
//!
//! Whether a block is whole is told by its end, and damage is looked through from its start. So the reader is a machine
//! that *asks*: it says which bytes of the file come next, is pushed those that the caller has, however few, and hands
//! out an event as soon as it can. Content that nobody wants is never asked for.
//!
//! ```text
//!  push(bytes at an offset) ──► Need { offset, length }   push what stands there
//!                           ──► Block      then, before the next push: decode(..), take(..), or nothing to skip it
//!                           ──► Rows …     a batch of the block being decoded
//!                           ──► Content    all bytes of the block being taken
//!                           ──► Corrupt    a damaged stretch that was passed over
//!                           ──► End
//! ```
//!
//! A caller with the whole file pushes all of it every time and is never asked for more; one with ranged reads fetches
//! from [`Need::offset`] as much as suits it. The events do not depend on how the bytes are cut. Held inside is what
//! straddles two pushes: a header map, a row, or content that is taken whole; and the batch that is being filled. A block
//! is checked before it is handed out, so its rows never have to be taken back.
//!
//! A block counts as whole when its trailer repeats its length *and* it is followed by another magic or by the end of the
//! file (fewer than six bytes). Everything else is skipped up to the next magic, because a writer may have died there.
//! This is Apache Hudi's rule, with its price: rows of a whole block are lost if six bytes of garbage follow it.
//!
//! | bytes (A, B whole blocks)                               | found                     |
//! |---------------------------------------------------------|---------------------------|
//! | empty, or fewer than 6 bytes                            | nothing                   |
//! | A, cut B; A, 1–5 stray bytes; A, magic, 0–8 bytes       | A, perhaps Corrupt        |
//! | A, 6 or more bytes that are no magic                    | Corrupt                   |
//! | A, garbage, B; cut A, B; A with wrong L or T, B         | Corrupt, B                |
//! | anything but a magic at the start                       | error                     |
//! | whole block of unknown type, version, header or footer  | error                     |
//! | whole block whose content length does not fit           | error                     |

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::RecordBatch;

use super::block::{BlockKind, FIXED_LENGTH, FORMAT_VERSION, HeaderMap, Headers, LENGTH_FIELD, MAGIC, MapSoFar};
use super::found::Block;
use super::rows::Rows;
use super::window::{Held, Window};
use crate::avro::RowDecoder;
use crate::wire;
use crate::{Error, Result};

const MAGIC_LENGTH: u64 = MAGIC.len() as u64;
/// Magic and block length.
const HEAD: u64 = MAGIC_LENGTH + LENGTH_FIELD as u64;
/// The empty footer map.
const FOOTERS: u64 = 4;
const TRAILER: u64 = LENGTH_FIELD as u64;
/// Version and kind, in front of the header map.
const KIND: u64 = 4 + 4;
/// How much of a block is looked at first, in the hope that the header map ends there.
const FIRST_LOOK: u64 = 4096;

/// The bytes that a reader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub offset: u64,
    /// How many will be read from there in one go.
    pub length: u64,
}

/// What a reader has to say.
#[derive(Debug)]
pub enum Event<'a> {
    /// Nothing yet: bytes at this offset are missing.
    Need(Need),
    /// A whole block. Its content is skipped unless the reader is told otherwise before the next push.
    Block(Block<'a>),
    /// Some rows of the block that is being decoded.
    Rows(RecordBatch),
    /// All bytes of the block that was taken; owned if they came in pieces.
    Content(Cow<'a, [u8]>),
    /// File offsets that were skipped, counted from behind the damaged block's magic to the next magic or the end.
    Corrupt(Range<u64>),
    End,
}

/// Reads one log file. See the module's page.
#[derive(Debug)]
pub struct Reader {
    file_length: u64,
    stage: Stage,
    held: Held,
    limits: Limits,
}

/// When a batch is full.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) rows: usize,
    /// Of Avro, before decoding.
    pub(super) bytes: usize,
}

/// How far the reader is. Offsets are the file's.
#[derive(Debug)]
enum Stage {
    /// A magic is due, or the end.
    Start {
        at: u64,
    },
    /// The length was read; whether the block is whole is told by its end.
    Ending(Extent),
    /// The block is whole. `look` bytes of it are asked for, to find its content.
    Open {
        extent: Extent,
        footers: i32,
        look: u64,
    },
    /// The block was handed out.
    Met {
        kind: BlockKind,
        content: Range<u64>,
        end: u64,
    },
    Take {
        content: Range<u64>,
        end: u64,
    },
    Decode {
        rows: Box<Rows>,
        end: u64,
    },
    /// The magic after the damage that starts at `from` is being looked for; it is not before `at`.
    Damage {
        from: u64,
        at: u64,
    },
    Over,
}

/// From a block's magic to behind its trailer, if its length can be believed.
#[derive(Debug, Clone, Copy)]
struct Extent {
    start: u64,
    end: u64,
}

impl Extent {
    /// Behind the length field.
    fn body(self) -> u64 {
        self.start + HEAD
    }

    /// Where headers and content have to be over.
    fn footers(self) -> u64 {
        self.end - TRAILER - FOOTERS
    }

    /// Whether there is room for all fields of fixed width.
    fn is_enough(self) -> bool {
        self.end >= self.body() + FIXED_LENGTH as u64
    }
}

/// An event, its bytes not yet fetched.
#[derive(Debug)]
pub(super) enum Step {
    Need(Need),
    Block(Found),
    Rows(RecordBatch),
    Content(Range<u64>),
    Corrupt(Range<u64>),
    End,
}

/// A whole block, by where its parts are.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) offset: u64,
    pub(super) kind: BlockKind,
    pub(super) headers: HeaderMap,
    pub(super) headers_at: u64,
    pub(super) content: Range<u64>,
}

impl Found {
    fn headers_range(&self) -> Range<u64> {
        self.headers_at..self.headers_at + self.headers.length as u64
    }

    /// `headers` are the bytes of the header map, or more.
    pub(super) fn block<'a>(&self, headers: &'a [u8]) -> Result<Block<'a>> {
        Ok(Block {
            offset: self.offset,
            kind: self.kind,
            headers: Headers::new(&self.headers, headers, self.headers_at)?,
            content_offset: self.content.start,
            content_length: self.content.end - self.content.start,
        })
    }
}

/// Whether a step ends in an event or in another stage.
enum Next {
    Stage(Stage),
    Event(Step, Stage),
    /// This stage goes on once these bytes are there.
    Wait(Stage, u64),
}

impl Reader {
    /// Rows of a batch, unless [`Self::with_batches`] says otherwise.
    pub const BATCH_ROWS: usize = 8192;
    /// Avro bytes of a batch: rows may be large.
    pub const BATCH_BYTES: usize = 16 << 20;

    pub fn new(file_length: u64) -> Self {
        Self::starting_at(0, file_length)
    }

    /// Starts at a block whose offset is known.
    pub fn starting_at(offset: u64, file_length: u64) -> Self {
        let limits = Limits { rows: Self::BATCH_ROWS, bytes: Self::BATCH_BYTES };
        Self { file_length, stage: Stage::Start { at: offset }, held: Held::default(), limits }
    }

    /// A batch is handed out with that many rows, or earlier once its rows came from that many bytes.
    #[must_use]
    pub fn with_batches(mut self, rows: usize, bytes: usize) -> Self {
        self.limits = Limits { rows: rows.max(1), bytes };
        self
    }

    /// Goes on with `bytes`, which start at `offset` of the file, up to the next event. Bytes that are not needed are
    /// passed over. Nothing but [`Event::End`] follows an error.
    pub fn push<'a>(&'a mut self, offset: u64, bytes: &'a [u8]) -> Result<Event<'a>> {
        let window = Window { at: offset, bytes };
        let lost = || Error::internal("bytes of a log block went missing");
        Ok(match self.step(window)? {
            Step::Need(need) => Event::Need(need),
            Step::Rows(batch) => Event::Rows(batch),
            Step::Corrupt(range) => Event::Corrupt(range),
            Step::End => Event::End,
            Step::Block(found) => {
                let headers = self.held.span(window, &found.headers_range()).ok_or_else(lost)?;
                match found.block(headers) {
                    Ok(block) => Event::Block(block),
                    Err(error) => {
                        self.stage = Stage::Over;
                        return Err(error);
                    }
                }
            }
            Step::Content(range) => Event::Content(match self.held.take(&range) {
                Some(bytes) => Cow::Owned(bytes),
                None => Cow::Borrowed(self.held.span(window, &range).ok_or_else(lost)?),
            }),
        })
    }

    /// Asks for the rows of the block just met, an Avro or CDC block. [`Block::decoder`] makes the decoder.
    pub fn decode(&mut self, decoder: RowDecoder) -> Result<()> {
        self.choose(|kind, content, end, limits| match kind {
            BlockKind::AvroData | BlockKind::CdcData => {
                Ok(Stage::Decode { rows: Box::new(Rows::new(decoder, content, limits)), end })
            }
            other => Err(Error::internal(format!("a log block of kind {} holds no Avro rows", other.name()))),
        })
    }

    /// Asks for the content of the block just met as it stands, in one piece of at most `most` bytes.
    pub fn take(&mut self, most: u64) -> Result<()> {
        self.choose(|kind, content, end, _| {
            let length = content.end - content.start;
            if length > most {
                let message = format!("the {} log block holds {length} bytes, at most {most} are read", kind.name());
                return Err(Error::unsupported(message).at_offset(content.start));
            }
            Ok(Stage::Take { content, end })
        })
    }

    fn choose(&mut self, then: impl FnOnce(BlockKind, Range<u64>, u64, Limits) -> Result<Stage>) -> Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Met { kind, content, end } => {
                self.stage = then(kind, content, end, self.limits)?;
                Ok(())
            }
            _ => Err(Error::internal("a log reader was told what to do with a block that it is not at")),
        }
    }

    /// The same as [`Self::push`], for those who have the bytes anyway.
    pub(super) fn step(&mut self, window: Window<'_>) -> Result<Step> {
        loop {
            // An error leaves the reader at its end.
            let next = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Start { at } => self.start(window, at)?,
                Stage::Ending(extent) => self.ending(window, extent)?,
                Stage::Open { extent, footers, look } => self.open(window, extent, footers, look)?,
                Stage::Met { end, .. } => Next::Stage(Stage::Start { at: end }),
                Stage::Take { content, end } => self.content(window, content, end),
                Stage::Decode { rows, end } => self.rows(window, rows, end)?,
                Stage::Damage { from, at } => self.damage(window, from, at),
                Stage::Over => Next::Event(Step::End, Stage::Over),
            };
            match next {
                Next::Stage(stage) => self.stage = stage,
                Next::Event(event, stage) => {
                    self.stage = stage;
                    return Ok(event);
                }
                Next::Wait(stage, end) => {
                    self.stage = stage;
                    let offset = self.held.missing_from();
                    return Ok(Step::Need(Need { offset, length: end.saturating_sub(offset) }));
                }
            }
        }
    }

    fn left(&self, at: u64) -> u64 {
        self.file_length.saturating_sub(at)
    }

    fn start(&mut self, window: Window<'_>, at: u64) -> Result<Next> {
        let left = self.left(at);
        if left < MAGIC_LENGTH {
            return Ok(Next::Event(Step::End, Stage::Over));
        }
        let head = at..at + left.min(HEAD);
        let Some(bytes) = self.held.span(window, &head) else {
            return Ok(Next::Wait(Stage::Start { at }, head.end));
        };
        let Some(length) = bytes.strip_prefix(MAGIC) else {
            let message = "no log block starts here: the magic #HUDI# is missing";
            return Err(Error::corrupt(message).at_offset(at));
        };
        let damage = Stage::Damage { from: at + MAGIC_LENGTH, at: at + MAGIC_LENGTH };
        let Some(length) = length.first_chunk().copied().map(i64::from_be_bytes) else {
            return Ok(Next::Stage(damage));
        };
        // Java narrows the length to 32 bits before it compares, so damage in the upper half does not cost the block.
        let end = (at + HEAD).checked_add_signed(i64::from(length as i32));
        Ok(Next::Stage(match end.filter(|end| (TRAILER..=self.file_length).contains(end)) {
            Some(end) => Stage::Ending(Extent { start: at, end }),
            None => damage,
        }))
    }

    /// The last footer byte, the trailer and the magic behind it lie together.
    fn ending(&mut self, window: Window<'_>, extent: Extent) -> Result<Next> {
        let Extent { start, end } = extent;
        let tail_at = if extent.is_enough() { extent.footers() } else { end - TRAILER };
        let tail = tail_at..end + self.left(end).min(MAGIC_LENGTH);
        let Some(bytes) = self.held.span(window, &tail) else {
            return Ok(Next::Wait(Stage::Ending(extent), tail.end));
        };
        let mut reader = wire::Reader::new(bytes, tail_at);
        let footers = if extent.is_enough() { reader.i32("number of block footers")? } else { 0 };
        let trailer = reader.i64("trailer")?;
        let behind = reader.take(reader.left(), "magic")?;
        let length = end.cast_signed() - extent.body().cast_signed();
        let agrees = trailer.checked_sub(MAGIC.len() as i64) == Some(length);
        if !agrees || !(behind.len() < MAGIC.len() || behind == MAGIC) {
            let at = start + MAGIC_LENGTH;
            return Ok(Next::Stage(Stage::Damage { from: at, at }));
        }
        if !extent.is_enough() {
            return Err(Error::corrupt("log block is too short for its own fields").at_offset(start));
        }
        Ok(Next::Stage(Stage::Open { extent, footers, look: FIRST_LOOK }))
    }

    /// Reads the fields in front of the content.
    fn open(&mut self, window: Window<'_>, extent: Extent, footers: i32, look: u64) -> Result<Next> {
        let room = extent.footers() - extent.body();
        let look = look.min(room);
        let part = extent.body()..extent.body() + look;
        let Some(bytes) = self.held.span(window, &part) else {
            return Ok(Next::Wait(Stage::Open { extent, footers, look }, part.end));
        };
        let mut reader = wire::Reader::new(bytes, part.start);
        let kind = kind(&mut reader, extent.start)?;
        let headers_at = reader.offset();
        // Behind the map there is at least the content length.
        let map_room = room.saturating_sub(KIND + LENGTH_FIELD as u64);
        let map_room = usize::try_from(map_room).unwrap_or(usize::MAX);
        let more = match HeaderMap::find(reader.rest(), map_room, headers_at)? {
            MapSoFar::Whole(headers) if headers.length + LENGTH_FIELD <= reader.left() => {
                reader.take(headers.length, "headers")?;
                let content = content(&mut reader, extent, footers)?;
                let met = Stage::Met { kind, content: content.clone(), end: extent.end };
                let found = Found { offset: extent.start, kind, headers, headers_at, content };
                return Ok(Next::Event(Step::Block(found), met));
            }
            MapSoFar::Whole(headers) => headers.length,
            MapSoFar::Cut(needed) => needed,
        };
        // Twice as much, so that a long map is not gone through once for each of its entries.
        let look = (KIND + more as u64 + LENGTH_FIELD as u64).max(2 * look);
        Ok(Next::Stage(Stage::Open { extent, footers, look }))
    }

    fn content(&mut self, window: Window<'_>, content: Range<u64>, end: u64) -> Next {
        match self.held.span(window, &content) {
            Some(_) => Next::Event(Step::Content(content), Stage::Start { at: end }),
            None => {
                let until = content.end;
                Next::Wait(Stage::Take { content, end }, until)
            }
        }
    }

    fn rows(&mut self, window: Window<'_>, mut rows: Box<Rows>, end: u64) -> Result<Next> {
        Ok(match rows.read(window, &mut self.held)? {
            super::rows::Read::Batch(batch) => Next::Event(Step::Rows(batch), Stage::Decode { rows, end }),
            super::rows::Read::Done => Next::Stage(Stage::Start { at: end }),
            super::rows::Read::Cut => {
                let until = rows.content_end();
                Next::Wait(Stage::Decode { rows, end }, until)
            }
        })
    }

    fn damage(&mut self, window: Window<'_>, from: u64, at: u64) -> Next {
        if self.left(at) < MAGIC_LENGTH {
            return Next::Event(Step::Corrupt(from..self.file_length), Stage::Over);
        }
        let bytes = window.from(at);
        if bytes.len() >= MAGIC.len() {
            if let Some(found) = bytes.windows(MAGIC.len()).position(|bytes| bytes == MAGIC) {
                let start = at + found as u64;
                return Next::Event(Step::Corrupt(from..start), Stage::Start { at: start });
            }
            // A magic may begin in the last bytes and end in the next window.
            return Next::Stage(Stage::Damage { from, at: at + (bytes.len() - MAGIC.len()) as u64 + 1 });
        }
        match self.held.span(window, &(at..at + MAGIC_LENGTH)) {
            None => Next::Wait(Stage::Damage { from, at }, self.file_length),
            Some(bytes) if bytes == MAGIC => Next::Event(Step::Corrupt(from..at), Stage::Start { at }),
            Some(_) => Next::Stage(Stage::Damage { from, at: at + 1 }),
        }
    }
}

fn kind(reader: &mut wire::Reader<'_>, block: u64) -> Result<BlockKind> {
    let version = reader.i32("log format version")?;
    if version != FORMAT_VERSION {
        let message = format!("log format version {version} is not supported, only {FORMAT_VERSION} is");
        return Err(Error::unsupported(message).at_offset(block));
    }
    BlockKind::from_ordinal(reader.i32("log block type")?).map_err(|e| e.at_offset(block))
}

/// The content must end where the footers start, and footers there must be none.
fn content(reader: &mut wire::Reader<'_>, extent: Extent, footers: i32) -> Result<Range<u64>> {
    let length_at = reader.offset();
    let length = reader.i64("content length")? as i32;
    let start = reader.offset();
    let end = u64::try_from(length).ok().and_then(|length| start.checked_add(length));
    match end {
        Some(end) if end == extent.footers() => {}
        Some(end) if end < extent.footers() => {
            let message =
                format!("content length {length} does not fit the length of the log block, or it has footers");
            return Err(Error::corrupt(message).at_offset(length_at));
        }
        _ => {
            let message = format!("block content has length {length}, {} bytes are left", extent.footers() - start);
            return Err(Error::corrupt(message).at_offset(length_at));
        }
    }
    if footers != 0 {
        return Err(Error::corrupt(format!("log block has {footers} footers")).at_offset(extent.footers()));
    }
    Ok(start..extent.footers())
}
