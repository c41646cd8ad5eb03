//! The history of the timeline: what the archive keeps of finished actions.
