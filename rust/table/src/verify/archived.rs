//! Files that archived commits wrote and that are gone, though slices of now need them.

use super::findings::{At, Found};
use super::state::{Kind, State, path_of};
use crate::Result;
use crate::view::Archived;

pub(super) fn check(state: &State<'_>, found: &mut Found) -> Result<()> {
    let storage = state.storage.as_ref();
    let timeline = state.later.clone().with_history(storage, &state.config)?;
    let (snapshot, files) = (&state.snapshot, &state.files);
    let held = Archived { storage, config: &state.config, timeline: &timeline, snapshot, files };
    let gone = held.gone(
        |_| Ok(true),
        |commit| found.attempt("timeline", storage, &timeline.dir, timeline.commit_files(storage, commit)),
    );
    let gone = found.attempt("slice", storage, "", gone)?.unwrap_or_default();
    // What commits of the active timeline name is looked for elsewhere.
    for key in gone.iter().filter(|key| !state.stated.contains_key(key)) {
        let path = path_of(key);
        if storage.head(&path)?.is_none() {
            let kind = Kind::of(&key.1);
            let at = At { path: Some(&path), instant: kind.as_ref().map(Kind::instant) };
            found.damage("missing_file", at, "the file is gone, and no clean took it; its commit is archived");
        }
    }
    Ok(())
}
