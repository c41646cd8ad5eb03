//! From a URL to a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Storage;
use super::connect::Cloud;
use super::local::Local;
use super::memory::Memory;
use crate::context::Ids;
use crate::{Error, Result};

/// Opens the store at a URL: of an object store (`s3://`, `gs://`, `abfss://`, …), `file:///path`, `file:/path` (as Hadoop
/// prints it), a plain path of the local file system, or `memory://name`, which is the same for all who open it in one process. In URLs `%xx` stands for a byte; plain paths are taken as they
/// are. `ids` name temporary files.
pub fn open(url: &str, options: &BTreeMap<String, String>, ids: Arc<dyn Ids>) -> Result<Arc<dyn Storage>> {
    if let Some(cloud) = scheme(url).and_then(Cloud::of) {
        return Ok(Arc::new(cloud.open(url, options)?));
    }
    let in_memory = url.strip_prefix("memory://");
    let path = if in_memory.is_some() { String::new() } else { local_path(url)? };
    if let Some(key) = options.keys().next() {
        return Err(Error::option(format!("unknown storage option {key:?}"))
            .with_hint("local file systems and memory have no options: leave storage_options empty"));
    }
    if let Some(name) = in_memory {
        return Ok(Arc::new(Memory::named(name)?));
    }
    Ok(Arc::new(Local::new(&path, ids)?))
}

fn local_path(url: &str) -> Result<String> {
    if let Some(rest) = url.strip_prefix("file:") {
        return file_url_path(url, rest);
    }
    match scheme(url) {
        Some(scheme) => Err(Error::unsupported(format!("storage of the scheme {scheme:?} is not supported"))
            .at_path(url)
            .with_hint("use a path, or a URL with file, s3, s3a, gs, az, abfs, abfss or memory")),
        None if url.is_empty() => Err(Error::option("the path is empty")),
        None => Ok(url.to_owned()),
    }
}

fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    let mut letters = scheme.bytes();
    let first = letters.next().is_some_and(|b| b.is_ascii_alphabetic());
    let is_scheme = first && letters.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_scheme.then_some(scheme)
}

fn file_url_path(url: &str, rest: &str) -> Result<String> {
    let path = match rest.strip_prefix("//") {
        // With an authority: the host, which must be this machine, ends at the next slash.
        Some(authority) => {
            let (host, _) = authority.split_once('/').unwrap_or((authority, ""));
            if !matches!(host, "" | "localhost") {
                return Err(Error::option(format!("the file URL names another host, {host:?}")).at_path(url));
            }
            authority.strip_prefix(host).unwrap_or_default()
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(Error::option("a file URL needs an absolute path").at_path(url).with_hint("write file:///path"));
    }
    percent_decoded(path).ok_or_else(|| {
        Error::option("a % in a file URL must be followed by two hex digits, and all of it be UTF-8")
            .at_path(url)
            .with_hint("write %25 for the character itself, or give the plain path")
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut pieces = text.split('%');
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let (digits, after) = piece.split_at_checked(2)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(after.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::context::SeededIds;
    use crate::storage::Put;
    use rstest::rstest;

    fn opened(url: &str, options: &[(&str, &str)]) -> Result<Arc<dyn Storage>> {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        open(url, &options, Arc::new(SeededIds::new(1)))
    }

    #[rstest]
    #[case("/a/b c/%20", "/a/b c/%20")]
    #[case("/a/b/", "/a/b")]
    #[case("/", "/")]
    #[case("file:///a/b%20c/%C3%BC%25", "/a/b c/ü%")]
    #[case("file:/a/x=1", "/a/x=1")]
    #[case("file://localhost/a", "/a")]
    fn local_urls_open(#[case] url: &str, #[case] root: &str) {
        assert_eq!(opened(url, &[]).unwrap().root(), root);
    }

    #[test]
    fn a_relative_path_starts_at_the_working_directory() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(opened("some:dir/t", &[]).unwrap().root(), here.join("some:dir/t").to_str().unwrap());
    }

    #[rstest]
    #[case("", ErrorKind::InvalidOption, "empty")]
    #[case("file://elsewhere/a", ErrorKind::InvalidOption, "elsewhere")]
    #[case("file:a", ErrorKind::InvalidOption, "absolute")]
    #[case("file://", ErrorKind::InvalidOption, "absolute")]
    #[case("file:///a%2", ErrorKind::InvalidOption, "hex")]
    #[case("file:///a%+1", ErrorKind::InvalidOption, "hex")]
    #[case("file:///a%ü1", ErrorKind::InvalidOption, "hex")]
    #[case("file:///a%ff", ErrorKind::InvalidOption, "UTF-8")]
    #[case("hdfs://host/t", ErrorKind::UnsupportedFeature, "\"hdfs\"")]
    #[case("s3:///t", ErrorKind::InvalidOption, "bucket")]
    #[case("s3://bucket/t?x=1", ErrorKind::InvalidOption, "query")]
    #[case("memory://", ErrorKind::InvalidOption, "name")]
    fn other_urls_are_refused_by_name(#[case] url: &str, #[case] kind: ErrorKind, #[case] says: &str) {
        let error = opened(url, &[]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(says), "{error}");
    }

    #[test]
    fn a_name_in_memory_is_one_store() {
        let (one, same) = (opened("memory://open/t", &[]).unwrap(), opened("memory://open/t/", &[]).unwrap());
        assert!(matches!(one.create("f", b"x").unwrap(), Put::Done(_)));
        assert_eq!((same.root(), same.read("f").unwrap().as_deref()), ("memory://open/t", Some(&b"x"[..])));
        assert_eq!(opened("memory://open/u", &[]).unwrap().read("f").unwrap(), None);
    }

    #[rstest]
    #[case("/a", "endpoint")]
    #[case("memory://t", "endpoint")]
    #[case("s3://bucket/t", "account_name")]
    #[case("gs://bucket/t", "aws_region")]
    #[case("abfss://c@a.dfs.core.windows.net/t", "aws_region")]
    fn an_unknown_storage_option_is_refused_by_name(#[case] url: &str, #[case] option: &str) {
        let error = opened(url, &[(option, "x")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        assert!(error.message().contains(&format!("{option:?}")), "{error}");
    }

    #[rstest]
    #[case("s3://bucket/a/t/", &[("key", "k"), ("SECRET", "s"), ("endpoint_url", "http://localhost:1")])]
    #[case("s3a://bucket", &[("AWS_REGION", "eu-west-1"), ("aws_skip_signature", "true")])]
    #[case("gs://bucket/t", &[("google_skip_signature", "true")])]
    #[case("abfss://c@a.dfs.core.windows.net/t", &[("azure_storage_account_key", "a2V5")])]
    #[case("az://c/t", &[("account_name", "a"), ("azure_skip_signature", "true")])]
    fn object_stores_open_without_being_asked(#[case] url: &str, #[case] options: &[(&str, &str)]) {
        let store = opened(url, options).unwrap();
        assert_eq!(store.root(), url.trim_end_matches('/'));
        assert_eq!(store.create("a", b"").unwrap_err().kind(), ErrorKind::UnsupportedFeature);
        assert_eq!(store.try_lock("a").unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }
}
