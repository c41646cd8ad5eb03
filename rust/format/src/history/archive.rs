//! The archive of layout 1: `.hoodie/archived/.commits_.archive.<n>_1-0-1`, log files whose Avro blocks hold one
//! `HoodieArchivedMetaEntry` for each *state* of an action, with its payload as a nested record.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Entry;
use crate::action::datum::{Budget, Decoder};
use crate::action::{
    CleanMetadata, CleanerPlan, CommitMetadata, CompactionPlan, IndexCommitMetadata, RequestedReplaceMetadata,
    RollbackMetadata, SavepointMetadata,
};
use crate::instant::{Action, State};
use crate::log::{BlockKind, BlockRef, Scanned, avro_block, scan};
use crate::schema::Record;
use crate::{Error, Result};

/// One state of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchivedState {
    pub requested: String,
    pub action: Action,
    pub state: State,
    /// When the state was reached.
    pub reached: Option<String>,
    /// What the file of the completed state held, as a file of layout 2.
    pub metadata: Option<Vec<u8>>,
    /// What the requested or inflight file held, likewise.
    pub plan: Option<Vec<u8>>,
}

/// Decodes log files of the archive. Each of their many blocks states its schema, mostly the same one and a long one: it is
/// parsed once.
#[derive(Debug, Default)]
pub struct Archives {
    known: Option<(String, Record)>,
}

impl Archives {
    /// The states in one file. Damaged stretches are passed over, as Apache Hudi does.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Vec<ArchivedState>> {
        let mut states = Vec::new();
        for block in scan(bytes) {
            if let Scanned::Block(block) = block?
                && block.kind == BlockKind::AvroData
            {
                self.decode_block(&block, &mut states).map_err(|e| e.at_offset(block.offset))?;
            }
        }
        Ok(states)
    }

    fn decode_block(&mut self, block: &BlockRef<'_>, states: &mut Vec<ArchivedState>) -> Result<()> {
        let schema = self.schema(block.schema()?)?;
        for record in avro_block::records(block.content, block.content_offset)? {
            let record = record?;
            let mut decoder = Decoder::new(record, block.content_offset, Budget::of(record.len()));
            let entry: MetaEntry = decoder.read(schema)?;
            decoder.finish()?;
            states.push(entry.state()?);
        }
        Ok(())
    }

    fn schema(&mut self, text: &str) -> Result<&Record> {
        let known = match self.known.take() {
            Some(known) if known.0 == text => known,
            _ => (text.to_owned(), Record::parse(text)?),
        };
        Ok(&self.known.insert(known).1)
    }
}

/// The completed actions among the states of one or more archive files, by requested time.
pub fn entries(states: impl IntoIterator<Item = ArchivedState>) -> Vec<Entry> {
    let mut actions: BTreeMap<(String, Action), (bool, Entry)> = BTreeMap::new();
    for state in states {
        let action = state.action.completes_as();
        let (done, entry) = actions.entry((state.requested.clone(), action)).or_insert_with(|| {
            let nothing =
                Entry { requested: state.requested, completed: None, action: None, metadata: None, plan: None };
            (false, Entry { action: Some(action), ..nothing })
        });
        if state.state == State::Completed {
            *done = true;
            entry.completed = state.reached;
            entry.metadata = state.metadata;
        } else if state.plan.is_some() && has_plan(state.action) {
            entry.plan = state.plan;
        }
    }
    actions.into_values().filter_map(|(done, entry)| done.then_some(entry)).collect()
}

/// What a commit was about to write is no plan, and not kept in layout 2.
fn has_plan(action: Action) -> bool {
    action == Action::Clean || action == Action::ReplaceCommit || action.is_service_plan()
}

/// `HoodieArchivedMetaEntry`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MetaEntry {
    hoodie_commit_metadata: Option<CommitMetadata>,
    hoodie_clean_metadata: Option<CleanMetadata>,
    /// Of releases before 0.6.
    hoodie_compaction_metadata: Option<Value>,
    hoodie_rollback_metadata: Option<RollbackMetadata>,
    hoodie_save_point_metadata: Option<SavepointMetadata>,
    commit_time: Option<String>,
    action_type: Option<String>,
    hoodie_compaction_plan: Option<CompactionPlan>,
    hoodie_cleaner_plan: Option<CleanerPlan>,
    action_state: Option<String>,
    hoodie_replace_commit_metadata: Option<CommitMetadata>,
    hoodie_requested_replace_metadata: Option<RequestedReplaceMetadata>,
    #[serde(rename = "HoodieInflightReplaceMetadata")]
    hoodie_inflight_replace_metadata: Option<CommitMetadata>,
    hoodie_index_commit_metadata: Option<IndexCommitMetadata>,
    state_transition_time: Option<String>,
}

impl MetaEntry {
    fn state(self) -> Result<ArchivedState> {
        let requested =
            self.commit_time.clone().ok_or_else(|| Error::corrupt("an archived action without its time"))?;
        self.typed().map_err(|e| e.at_instant(&requested)).map(|state| ArchivedState { requested, ..state })
    }

    fn typed(self) -> Result<ArchivedState> {
        if self.hoodie_compaction_metadata.is_some() {
            return Err(Error::unsupported("archived compaction metadata of releases before 0.6"));
        }
        let name = self.action_type.unwrap_or_default();
        let action = Action::parse(&name).ok_or_else(|| Error::unsupported(format!("the action '{name}'")))?;
        // The first releases archived nothing but completed actions, and did not say so.
        let state = self.action_state.as_deref().unwrap_or("COMPLETED");
        let state = [State::Requested, State::Inflight, State::Completed]
            .into_iter()
            .find(|s| s.name().eq_ignore_ascii_case(state))
            .ok_or_else(|| Error::unsupported(format!("the state '{state}'")))?;
        let encoded = [
            self.hoodie_commit_metadata.map(|p| p.encode()),
            self.hoodie_replace_commit_metadata.map(|p| p.encode()),
            self.hoodie_inflight_replace_metadata.map(|p| p.encode()),
            self.hoodie_clean_metadata.map(|p| p.encode()),
            self.hoodie_rollback_metadata.map(|p| p.encode()),
            self.hoodie_save_point_metadata.map(|p| p.encode()),
            self.hoodie_index_commit_metadata.map(|p| p.encode()),
            self.hoodie_compaction_plan.map(|p| p.encode()),
            self.hoodie_cleaner_plan.map(|p| p.encode()),
            self.hoodie_requested_replace_metadata.map(|p| p.encode()),
        ];
        let payload = encoded.into_iter().flatten().next().transpose()?;
        let (metadata, plan) = if state == State::Completed { (payload, None) } else { (None, payload) };
        Ok(ArchivedState {
            requested: String::new(),
            action,
            state,
            reached: self.state_transition_time,
            metadata,
            plan,
        })
    }
}
