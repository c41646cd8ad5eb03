//! Record positions: which rows of a base file the rows of a log block change.
