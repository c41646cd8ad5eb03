//! From the URL of an object store, and options, to its client.
//!
//! Options go by the names of `object_store`, which delta-rs has too (`aws_access_key_id`, `AWS_REGION`, …), and by those
//! of fsspec. What they leave open is taken from the environment, where each cloud's tools look.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use url::Url;

use super::aws_profile;
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
            "gs" | "gcs" => Some(Self::Google),
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
        // The client knows it by one name.
        let location = url.strip_prefix("gcs://").map_or_else(|| url.to_owned(), |rest| format!("gs://{rest}"));
        let options = self.settled(options)?;
        let connect = move || self.client(&location, &options);
        // What is wrong with the options is said at once.
        connect()?;
        Ok(Object::new(url.trim_end_matches('/').to_owned(), base.to_string(), Box::new(connect)))
    }

    /// Options under the client's own names.
    fn settled(self, options: &Options) -> Result<Options> {
        let mut settled = Options::new();
        for (key, value) in options {
            let other = settled.insert(self.name_of(key), value.clone());
            if other.is_some_and(|other| other != *value) {
                return Err(Error::option(format!("storage options say two things of {:?}", self.name_of(key))));
            }
        }
        if let Some(parts) = settled.remove(CONNECTION_STRING) {
            settled.extend(parts_of_connection(&parts)?);
        }
        if self == Self::S3 {
            // Both sides of the same coin: who may go without TLS.
            if let Some(uses) = settled.remove(USE_SSL) {
                settled.entry(ALLOW_HTTP.to_owned()).or_insert(opposite(USE_SSL, &uses)?);
            }
            aws_profile::add(&mut settled)?;
        }
        let endpoint = settled.iter().find(|(key, _)| key.contains("endpoint")).map(|(_, value)| value.clone());
        if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
            // Who names such an endpoint has chosen.
            settled.entry(ALLOW_HTTP.to_owned()).or_insert_with(|| "true".to_owned());
        }
        Ok(settled)
    }

    fn name_of(self, key: &str) -> String {
        let key = key.to_ascii_lowercase();
        let name = match (self, key.as_str()) {
            (Self::S3, "key") => "access_key_id",
            (Self::S3, "secret") => "secret_access_key",
            (Self::S3, "region_name") => "region",
            (Self::S3, "requester_pays") => "request_payer",
            (Self::S3, "aws_profile") => aws_profile::OPTION,
            (Self::S3, "aws_allow_http" | "aws_storage_allow_http") => ALLOW_HTTP,
            (Self::Google, "token") => "google_application_credentials",
            (Self::Azure, "azure_storage_connection_string") => CONNECTION_STRING,
            (_, "anon") => "skip_signature",
            _ => key.as_str(),
        };
        // One name for each option, or two would contradict each other unseen.
        match name.parse::<AmazonS3ConfigKey>() {
            Ok(known) if self == Self::S3 => known.as_ref().to_owned(),
            _ => name.to_owned(),
        }
    }

    fn client(self, url: &str, options: &Options) -> Result<Arc<dyn ObjectStore>> {
        let failed = |e: object_store::Error| {
            Error::option("no client can be made of storage_options").caused_by(e).at_path(url)
        };
        Ok(match self {
            Self::S3 => {
                let builder = aws_profile::with_environment(AmazonS3Builder::new(), options).with_url(url);
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

const CONNECTION_STRING: &str = "connection_string";
const ALLOW_HTTP: &str = "allow_http";
const USE_SSL: &str = "use_ssl";

fn opposite(name: &str, text: &str) -> Result<String> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok("false".to_owned()),
        "false" => Ok("true".to_owned()),
        _ => Err(Error::option(format!("{name} is true or false, not {text:?}"))),
    }
}

/// What a connection string of Azure says, under the client's own names.
fn parts_of_connection(text: &str) -> Result<Vec<(String, String)>> {
    let mut parts = Vec::new();
    let says_where = text.to_ascii_lowercase().contains("blobendpoint=");
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        // Its secrets are not repeated.
        let unknown = |name: &str| Error::option(format!("{CONNECTION_STRING}: '{name}' is not understood"));
        let (name, value) = part.split_once('=').ok_or_else(|| unknown("a part without a value"))?;
        let key = match name.to_ascii_lowercase().as_str() {
            "accountname" => "account_name",
            "accountkey" => "account_key",
            "sharedaccesssignature" => "sas_key",
            "blobendpoint" => "endpoint",
            "usedevelopmentstorage" => "use_emulator",
            // Of no account in the cloud, unless the place is named.
            "defaultendpointsprotocol" if says_where || value.eq_ignore_ascii_case("https") => continue,
            // Other services of the account.
            "queueendpoint" | "tableendpoint" | "fileendpoint" => continue,
            // Of other clouds the endpoint has to be named.
            "endpointsuffix" if value.eq_ignore_ascii_case("core.windows.net") => continue,
            _ => return Err(unknown(name)),
        };
        parts.push((key.to_owned(), value.to_owned()));
    }
    Ok(parts)
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::storage::Storage;

    fn options(given: &[(&str, &str)]) -> Options {
        given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[rstest]
    #[case::gcs("gcs://lake/t", &[("anon", "true")])]
    #[case::azure("abfss://lake@account.dfs.core.windows.net/t", &[("anon", "true")])]
    #[case::connection_string(
        "az://lake/t",
        &[("connection_string", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;EndpointSuffix=core.windows.net")]
    )]
    #[case::place_of_blobs(
        "az://lake/t",
        &[("connection_string", "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://h:1/a;QueueEndpoint=http://h:2/a;")]
    )]
    #[case::emulator("az://lake/t", &[("connection_string", "UseDevelopmentStorage=true")])]
    #[case::delta_rs("s3://lake/t", &[("AWS_REGION", "eu-west-1"), ("AWS_STORAGE_ALLOW_HTTP", "true"), ("AWS_ENDPOINT_URL", "http://h:1")])]
    #[case::fsspec("s3a://lake/t", &[("key", "k"), ("secret", "s"), ("endpoint_url", "http://h:1"), ("region", "x")])]
    #[case::clients("s3://lake/t", &[("use_ssl", "false"), ("region_name", "x"), ("requester_pays", "true"), ("token", "t")])]
    fn options_of_other_libraries(#[case] url: &str, #[case] given: &[(&str, &str)]) {
        let (scheme, _) = url.split_once("://").unwrap();
        let cloud = Cloud::of(scheme).unwrap();
        assert_eq!(cloud.open(url, &options(given)).unwrap().root(), url);
    }

    /// Whatever it is called, what options say stands before what a profile says.
    #[rstest]
    fn one_name_for_each_option(#[values("region", "aws_region", "AWS_REGION", "region_name")] name: &str) {
        let settled = Cloud::S3.settled(&options(&[(name, "here"), ("skip_signature", "true")])).unwrap();
        assert_eq!(settled.get("aws_region").map(String::as_str), Some("here"));
        let twice = options(&[(name, "here"), ("Region", "there")]);
        assert_eq!(Cloud::S3.settled(&twice).unwrap_err().kind(), crate::ErrorKind::InvalidOption);
    }

    #[rstest]
    #[case::unknown_part("AccountName=a;Favourite=blue", "Favourite")]
    #[case::no_value("AccountName", "a part without a value")]
    #[case::no_cloud("DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5", "DefaultEndpointsProtocol")]
    #[case::another_cloud("AccountName=a;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn", "EndpointSuffix")]
    fn connection_strings_that_say_something_else(#[case] text: &str, #[case] what: &str) {
        let error = Cloud::Azure.open("az://lake/t", &options(&[("connection_string", text)])).unwrap_err();
        assert!(error.message().contains(what), "{error}");
    }
}
