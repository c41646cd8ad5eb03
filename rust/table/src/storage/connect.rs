//! From the URL of an object store, and options, to its client.
//!
//! Options go by the names of `object_store`, which delta-rs has too (`aws_access_key_id`, `AWS_REGION`, …), and by the
//! most common ones of fsspec. What they leave open is taken from the environment, where each cloud's tools look.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use url::Url;

use super::object::Object;
use crate::{Error, Result};

type Options = BTreeMap<String, String>;

/// The clouds, by the scheme of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cloud {
    S3,
    Google,
    Azure,
}

impl Cloud {
    pub(super) fn of(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::Google),
            "az" | "abfs" | "abfss" => Some(Self::Azure),
            _ => None,
        }
    }

    /// The store at a URL. Nothing is asked of it yet.
    pub(super) fn open(self, url: &str, options: &Options) -> Result<Object> {
        let parsed = Url::parse(url).map_err(|e| bad_url(url, "it cannot be read").caused_by(e))?;
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(
                bad_url(url, "it has a query or a fragment").with_hint("write %3F for ? and %23 for # in paths")
            );
        }
        if parsed.password().is_some() {
            let bare = parsed.host_str().unwrap_or_default();
            return Err(bad_url(bare, "it holds a password").with_hint("give secrets in storage_options"));
        }
        if parsed.host_str().is_none_or(str::is_empty) {
            return Err(bad_url(url, "it names no bucket or container"));
        }
        let base =
            Path::from_url_path(parsed.path()).map_err(|e| bad_url(url, "its path cannot be read").caused_by(e))?;
        let (location, options) = (url.to_owned(), self.settled(options));
        let connect = move || self.client(&location, &options);
        // What is wrong with the options is said at once.
        connect()?;
        Ok(Object::new(url.trim_end_matches('/').to_owned(), base.to_string(), Box::new(connect)))
    }

    /// Options under the client's own names.
    fn settled(self, options: &Options) -> Options {
        let mut settled: Options = options.iter().map(|(key, value)| (self.name_of(key), value.clone())).collect();
        let endpoint = settled.iter().find(|(key, _)| key.contains("endpoint")).map(|(_, value)| value.clone());
        if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
            // Who names such an endpoint has chosen.
            settled.entry("allow_http".to_owned()).or_insert_with(|| "true".to_owned());
        }
        settled
    }

    fn name_of(self, key: &str) -> String {
        let key = key.to_ascii_lowercase();
        let name = match (self, key.as_str()) {
            (Self::S3, "key") => "access_key_id",
            (Self::S3, "secret") => "secret_access_key",
            (Self::S3, "anon") => "skip_signature",
            (Self::S3, "aws_allow_http") => "allow_http",
            (Self::Azure, "connection_string") => "azure_storage_connection_string",
            _ => return key,
        };
        name.to_owned()
    }

    fn client(self, url: &str, options: &Options) -> Result<Arc<dyn ObjectStore>> {
        let failed = |e: object_store::Error| {
            Error::option("no client can be made of storage_options").caused_by(e).at_path(url)
        };
        Ok(match self {
            Self::S3 => {
                let builder = AmazonS3Builder::from_env().with_url(url);
                let builder = with_options(builder, options, AmazonS3Builder::with_config)?;
                Arc::new(builder.build().map_err(failed)?)
            }
            Self::Google => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
                let builder = with_options(builder, options, GoogleCloudStorageBuilder::with_config)?;
                Arc::new(builder.build().map_err(failed)?)
            }
            Self::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(url);
                let builder = with_options(builder, options, MicrosoftAzureBuilder::with_config)?;
                Arc::new(builder.build().map_err(failed)?)
            }
        })
    }
}

/// An option that no client knows is a mistake, and not to be passed over.
fn with_options<B, K: FromStr<Err: Display>>(
    builder: B,
    options: &Options,
    set: impl Fn(B, K, String) -> B,
) -> Result<B> {
    options.iter().try_fold(builder, |builder, (key, value)| match key.parse() {
        Ok(key) => Ok(set(builder, key, value.clone())),
        Err(_) => Err(Error::option(format!("unknown storage option {key:?}")).with_hint(
            "names are those of object_store and delta-rs, such as aws_region or azure_storage_account_key",
        )),
    })
}

fn bad_url(url: &str, why: &str) -> Error {
    Error::option(format!("the URL is no place in an object store: {why}")).at_path(url)
}
