//! Profiles of the AWS tools: keys and regions that their two files have under a name.
//!
//! A profile that options name stands before the environment's keys, one that the environment names behind them, as in
//! the tools; its region and endpoint stand behind the environment's. What a profile that is asked for leaves to programs or to
//! other roles cannot be had from files, and is refused by name.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use object_store::aws::AmazonS3Builder;

use crate::{Error, Result};

/// The option that names one.
pub(super) const OPTION: &str = "profile";

type Settings = BTreeMap<String, String>;

const ACCESS_KEY: &str = "aws_access_key_id";
/// The keys that a profile may have; the client's options are called the same.
const KEYS: [&str; 3] = [ACCESS_KEY, "aws_secret_access_key", "aws_session_token"];
/// What else it may say, how the client's options say it, and where the environment does.
const PLACES: [(&str, &[&str], &[&str]); 2] = [
    ("region", &["aws_region", "aws_default_region"], &["AWS_REGION", "AWS_DEFAULT_REGION"]),
    (
        "endpoint_url",
        &["aws_endpoint", "aws_endpoint_url_s3"],
        &["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"],
    ),
];
/// Ways to credentials that are no keys.
const ELSEWHERE: [&str; 6] =
    ["credential_process", "credential_source", "role_arn", "source_profile", "sso_session", "sso_start_url"];

/// Adds what the profile says that these options name, or the environment, to what they say themselves.
pub(super) fn add(options: &mut BTreeMap<String, String>) -> Result<()> {
    let named = options.remove(OPTION);
    let has_own = has_credentials(options);
    let from_environment = || env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
    let name = match &named {
        Some(name) => name.clone(),
        None if has_own || is_set(&ENVIRONMENT) => return Ok(()),
        None => from_environment().unwrap_or_else(|| "default".to_owned()),
    };
    let is_asked_for = named.is_some() || from_environment().is_some();
    let [credentials, config] = [Kind::Credentials, Kind::Config].map(|kind| kind.section(&name, is_asked_for));
    let (credentials, config) = (credentials?, config?);
    if credentials.is_none() && config.is_none() {
        return if is_asked_for {
            Err(Error::option(format!("there is no AWS profile '{name}'"))
                .with_hint("profiles are in ~/.aws/credentials and ~/.aws/config, or where AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE point"))
        } else {
            Ok(())
        };
    }
    // Of both files that of the keys counts.
    let settings: Settings = config.into_iter().chain(credentials).flatten().collect();
    if is_asked_for
        && !has_own
        && !settings.contains_key(ACCESS_KEY)
        && let Some(way) = ELSEWHERE.iter().find(|way| settings.contains_key(**way))
    {
        return Err(Error::unsupported(format!("the AWS profile '{name}' has no keys but {way}")).with_hint(
            "let `aws configure export-credentials --format env` put keys into the environment, or give them as options",
        ));
    }
    for key in KEYS.into_iter().filter(|_| !has_own) {
        options.extend(settings.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    for (name, ours, variables) in PLACES {
        let is_said = is_set(variables) || ours.iter().any(|option| options.contains_key(*option));
        if let (Some(value), [option, ..]) = (settings.get(name).filter(|_| !is_said), ours) {
            options.insert((*option).to_owned(), value.clone());
        }
    }
    Ok(())
}

/// The client as the environment has it, but without its keys where the options have some: a token of one and the keys of
/// another get nobody in.
pub(super) fn with_environment(client: AmazonS3Builder, options: &BTreeMap<String, String>) -> AmazonS3Builder {
    let has_own = has_credentials(options);
    // Others may hold what is no text.
    let told = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let told = told.filter(|(name, _)| name.starts_with("AWS_")).map(|(name, value)| (name.to_lowercase(), value));
    let told = told.filter(|(name, _)| !(has_own && KEYS.contains(&name.as_str())));
    told.fold(client, |client, (name, value)| match name.parse() {
        Ok(key) => client.with_config(key, value),
        Err(_) => client,
    })
}

/// Where the environment says by itself how to get in.
const ENVIRONMENT: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

fn is_set(variables: &[&str]) -> bool {
    variables.iter().any(|variable| env::var_os(variable).is_some())
}

fn has_credentials(options: &BTreeMap<String, String>) -> bool {
    [ACCESS_KEY, "aws_skip_signature"].iter().any(|name| options.contains_key(*name))
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Credentials,
    Config,
}

impl Kind {
    fn path(self) -> Option<PathBuf> {
        let (variable, name) = match self {
            Self::Credentials => ("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            Self::Config => ("AWS_CONFIG_FILE", "config"),
        };
        match env::var_os(variable) {
            Some(path) => Some(path.into()),
            None => Some(env::home_dir()?.join(".aws").join(name)),
        }
    }

    /// What the file says of a profile; `None` if it says nothing, or is not there. One that cannot be read matters only if
    /// the profile was asked for.
    fn section(self, profile: &str, is_asked_for: bool) -> Result<Option<Settings>> {
        let Some(path) = self.path() else { return Ok(None) };
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(section(&text, |title| self.is_titled(title, profile))),
            Err(e) if is_asked_for && e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::option("the file of AWS profiles cannot be read")
                    .caused_by(e)
                    .at_path(path.to_string_lossy()))
            }
            Err(_) => Ok(None),
        }
    }

    fn is_titled(self, title: &str, profile: &str) -> bool {
        match (self, title.strip_prefix("profile")) {
            (Self::Config, Some(name)) if name.starts_with(char::is_whitespace) => name.trim() == profile,
            (Self::Config, _) => profile == "default" && title == profile,
            (Self::Credentials, _) => title == profile,
        }
    }
}

/// The settings under a title. Lines that are set in belong to a setting of their own, such as `s3`, and are left out.
fn section(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<Settings> {
    let mut found: Option<Settings> = None;
    let mut is_within = false;
    for line in text.lines() {
        let is_set_in = line.starts_with(char::is_whitespace);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(title, _)| title) {
            is_within = is_wanted(title.trim());
            if is_within {
                found.get_or_insert_default();
            }
        } else if is_within
            && !is_set_in
            && let (Some(settings), Some((name, value))) = (&mut found, line.split_once('='))
        {
            settings.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const CONFIG: &str = "\
# what the tools write
[default]
region = eu-west-1
[profile lake]
Region=eu-north-1
s3 =
    endpoint_url = http://not.this
endpoint_url = https://minio:9000 

[profile  spaced ]
sso_session = there
[lake]
region = nobody's
";

    #[rstest]
    #[case(Kind::Config, "default", Some(&[("region", "eu-west-1")][..]))]
    #[case(Kind::Config, "lake", Some(&[("endpoint_url", "https://minio:9000"), ("region", "eu-north-1"), ("s3", "")][..]))]
    #[case(Kind::Config, "spaced", Some(&[("sso_session", "there")][..]))]
    #[case(Kind::Config, "none", None)]
    #[case(Kind::Credentials, "lake", Some(&[("region", "nobody's")][..]))]
    #[case(Kind::Credentials, "profile lake", Some(&[("endpoint_url", "https://minio:9000"), ("region", "eu-north-1"), ("s3", "")][..]))]
    fn sections(#[case] kind: Kind, #[case] profile: &str, #[case] expected: Option<&[(&str, &str)]>) {
        let expected =
            expected.map(|pairs| pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        assert_eq!(section(CONFIG, |title| kind.is_titled(title, profile)), expected);
    }
}
