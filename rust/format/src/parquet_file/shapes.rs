//! The structures of Parquet's footers and page headers, after `parquet.thrift` of the format.
//!
//! A parser that takes a field for what it should be, and not for what its bytes say, comes out of step with them. So both
//! must agree before it sees them.

/// The type of a field or an item.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Boolean,
    Byte,
    /// Enums too.
    Integer,
    Double,
    /// Texts too.
    Binary,
    Structure(Shape),
    List(&'static Type),
}

/// The fields that are known, by their ids. Unions are structures with one of them.
pub(super) type Shape = &'static [(i64, Type)];

use Type::{Binary, Boolean, Byte, Double, Integer, List, Structure};

const EMPTY: Type = Structure(&[]);
const NUMBERS: Type = List(&Integer);

const PAIR: Type = Structure(&[(1, Binary), (2, Binary)]);

const TIME: Type = Structure(&[(1, Boolean), (2, Structure(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);

const LOGICAL_TYPE: Type = Structure(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Structure(&[(1, Integer), (2, Integer)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Structure(&[(1, Byte), (2, Boolean)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Structure(&[(1, Byte)])),
    (17, Structure(&[(1, Binary)])),
    (18, Structure(&[(1, Binary), (2, Integer)])),
]);

/// type, length, repetition, name, children, converted type, scale, precision, id, logical type.
pub(super) const SCHEMA_ELEMENT: Shape = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Binary),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, Integer),
    (9, Integer),
    (10, LOGICAL_TYPE),
];

/// Least and greatest value twice, nulls, distinct values; whether those values are exact.
const STATISTICS: Type = Structure(&[
    (1, Binary),
    (2, Binary),
    (3, Integer),
    (4, Integer),
    (5, Binary),
    (6, Binary),
    (7, Boolean),
    (8, Boolean),
    (9, Integer),
]);

const BOX: Type = Structure(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);

/// type, encodings, path, codec, values, uncompressed and compressed size, pairs, places of data, index and dictionary
/// pages, statistics, encodings of pages, bloom filter, statistics of sizes and of places on earth.
pub(super) const COLUMN_METADATA: Shape = &[
    (1, Integer),
    (2, NUMBERS),
    (3, List(&Binary)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, List(&PAIR)),
    (9, Integer),
    (10, Integer),
    (11, Integer),
    (12, STATISTICS),
    (13, List(&Structure(&[(1, Integer), (2, Integer), (3, Integer)]))),
    (14, Integer),
    (15, Integer),
    (16, Structure(&[(1, Integer), (2, NUMBERS), (3, NUMBERS)])),
    (17, Structure(&[(1, BOX), (2, NUMBERS)])),
];

/// path, offset, metadata, places and lengths of its indexes, encryption.
pub(super) const COLUMN_CHUNK: Shape = &[
    (1, Binary),
    (2, Integer),
    (3, Structure(COLUMN_METADATA)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (9, Binary),
];

/// columns, size, rows, sorting columns, place, compressed size, ordinal.
pub(super) const ROW_GROUP: Shape = &[
    (1, List(&Structure(COLUMN_CHUNK))),
    (2, Integer),
    (3, Integer),
    (4, List(&Structure(&[(1, Integer), (2, Boolean), (3, Boolean)]))),
    (5, Integer),
    (6, Integer),
    (7, Integer),
];

/// version, schema, rows, row groups, pairs, writer, orders of columns.
pub(super) const FILE_METADATA: Shape = &[
    (1, Integer),
    (2, List(&Structure(SCHEMA_ELEMENT))),
    (3, Integer),
    (4, List(&Structure(ROW_GROUP))),
    (5, List(&PAIR)),
    (6, Binary),
    (7, List(&Structure(&[(1, EMPTY), (2, EMPTY)]))),
    (9, Binary),
];

/// values, encodings of values, definition and repetition levels, statistics.
pub(super) const DATA_PAGE: Shape = &[(1, Integer), (2, Integer), (3, Integer), (4, Integer), (5, STATISTICS)];
/// values, encoding, whether they are sorted.
pub(super) const DICTIONARY_PAGE: Shape = &[(1, Integer), (2, Integer), (3, Boolean)];
/// values, nulls, rows, encoding, bytes of definition and repetition levels, whether it is compressed, statistics.
pub(super) const DATA_PAGE_V2: Shape = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Boolean),
    (8, STATISTICS),
];
/// type, uncompressed and compressed size, checksum, and what its type has.
pub(super) const PAGE: Shape = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Integer),
    (5, Structure(DATA_PAGE)),
    (6, EMPTY),
    (7, Structure(DICTIONARY_PAGE)),
    (8, Structure(DATA_PAGE_V2)),
];

/// Pages without values, least and greatest values, order, nulls, histograms of levels twice, NaNs. The first is a list of
/// booleans.
pub(super) const COLUMN_INDEX: Shape = &[
    (1, List(&Boolean)),
    (2, List(&Binary)),
    (3, List(&Binary)),
    (4, Integer),
    (5, NUMBERS),
    (6, NUMBERS),
    (7, NUMBERS),
    (8, NUMBERS),
];
/// place, size and first row of each page; sizes without encoding.
pub(super) const OFFSET_INDEX: Shape =
    &[(1, List(&Structure(&[(1, Integer), (2, Integer), (3, Integer)]))), (2, NUMBERS)];
const ONE_CHOICE: Type = Structure(&[(1, EMPTY)]);
/// bytes, algorithm, hash, compression.
pub(super) const BLOOM_FILTER: Shape = &[(1, Integer), (2, ONE_CHOICE), (3, ONE_CHOICE), (4, ONE_CHOICE)];
