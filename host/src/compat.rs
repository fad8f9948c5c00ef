//! Whether this host can load what a manifest describes, decided before any of it runs.

use lockgate_plugin_api::Manifest;
use lockgate_plugin_api::abi::entry::{API_VERSION, SYMBOL_PREFIX, TARGET};
use semver::Version;

use crate::refusal::{Code, Refusal};
use crate::session::Fact;

/// The extensions that a plugin may need of this host.
const EXTENSIONS: &[&str] = &[];

/// Compares `manifest` with this host; the first thing that does not fit decides.
///
/// # Errors
///
/// In this order: `E-MANIFEST` for a version or a symbol that is none, `E-TARGET`, `E-PANIC`,
/// `E-API`, `E-CAPABILITY`.
pub fn check(manifest: &Manifest) -> Result<(), Refusal> {
    check_against(
        &Version::parse(API_VERSION).expect("cargo checks versions"),
        EXTENSIONS,
        manifest,
    )
}

/// [`check`] for a host of version `host` with these extensions.
fn check_against(host: &Version, extensions: &[&str], manifest: &Manifest) -> Result<(), Refusal> {
    version("version", &manifest.version)?;
    let api = version("api", &manifest.api)?;
    let min_host = version("min_host", &manifest.min_host)?;
    symbol(&manifest.symbol)?;
    events(&manifest.events)?;
    if manifest.target != TARGET {
        let message =
            format!("the plugin is built for {}, and this host for {TARGET}", manifest.target);
        return Err(Refusal::new(Code::Target, message));
    }
    // Rust's own strategy where a panic can be caught; none where there are no panics, as in C.
    if !["unwind", "none"].contains(&manifest.panic.as_str()) {
        let message = format!(
            "the plugin is built with the panic strategy `{}`, so a panic in it would end the host",
            manifest.panic
        );
        return Err(Refusal::new(Code::Panic, message));
    }
    line(host, &api)?;
    if min_host.cmp_precedence(host).is_gt() {
        let message = format!(
            "the plugin needs a host of the plugin API {min_host} or newer, and this host has \
             {host}, so the host has to be updated"
        );
        return Err(Refusal::new(Code::Api, message));
    }
    let lacking: Vec<_> =
        manifest.needs.iter().filter(|it| !extensions.contains(&it.as_str())).collect();
    if !lacking.is_empty() {
        let message = format!("the plugin needs what this host does not have: {}", list(&lacking));
        return Err(Refusal::new(Code::Capability, message));
    }
    Ok(())
}

fn version(field: &str, text: &str) -> Result<Version, Refusal> {
    Version::parse(text).map_err(|error| {
        let message = format!("the manifest's `{field}` is `{text}`, which is no version: {error}");
        Refusal::new(Code::Manifest, message)
    })
}

fn symbol(symbol: &str) -> Result<(), Refusal> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|it| it == b'_' || it.is_ascii_alphanumeric())
    };
    if symbol.strip_prefix(SYMBOL_PREFIX).is_some_and(is_name) {
        return Ok(());
    }
    let message =
        format!("the manifest's `symbol` is {symbol:?}, which is not {SYMBOL_PREFIX} and a name");
    Err(Refusal::new(Code::Manifest, message))
}

/// What the host alone writes is no plugin's to declare.
fn events(kinds: &[String]) -> Result<(), Refusal> {
    let Some(kind) = kinds.iter().find(|it| !Fact::is_open_to_plugins(it)) else { return Ok(()) };
    let message = format!(
        "the manifest's `events` name {kind:?}, which is no type that a plugin may append: it must \
         be two words with a slash, and not one of the host's own"
    );
    Err(Refusal::new(Code::Manifest, message))
}

/// Within a line the API only grows: a major version, or a minor one before the first major.
fn line(host: &Version, plugin: &Version) -> Result<(), Refusal> {
    let line = |of: &Version| (of.major, if of.major == 0 { of.minor } else { 0 });
    let newer = match line(plugin).cmp(&line(host)) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "the plugin has to be rebuilt with the newer API",
        std::cmp::Ordering::Greater => "the host has to be updated",
    };
    let message =
        format!("the plugin has the plugin API {plugin}, and this host {host}, so {newer}");
    Err(Refusal::new(Code::Api, message))
}

fn list(names: &[&String]) -> String {
    names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use lockgate_plugin_api::abi::entry::MIN_HOST;

    use super::*;

    fn fitting() -> Manifest {
        Manifest {
            name: "guard".into(),
            version: "3.1.4".into(),
            api: API_VERSION.into(),
            min_host: MIN_HOST.into(),
            needs: Vec::new(),
            symbol: format!("{SYMBOL_PREFIX}guard"),
            listeners: Vec::new(),
            tools: false,
            state: false,
            exclusive: false,
            events: Vec::new(),
            entry_deadline_ms: None,
            answer_deadline_ms: None,
            config_schema: None,
            panic: "unwind".into(),
            rustc: None,
            target: TARGET.into(),
            description: None,
            vendor: None,
            license: None,
        }
    }

    /// What a host of version `host` with the extensions `a` and `b` says; `""` is that it fits.
    #[track_caller]
    fn check_on(host: &str, change: impl FnOnce(&mut Manifest), expected: &str) {
        let mut manifest = Manifest { api: host.into(), min_host: host.into(), ..fitting() };
        change(&mut manifest);
        let host = Version::parse(host).unwrap();
        let answer = check_against(&host, &["a", "b"], &manifest);
        assert_eq!(answer.map_or_else(|it| it.to_string(), |()| String::new()), expected);
    }

    #[track_caller]
    fn check_api(host: &str, plugin: &str, expected: &str) {
        check_on(host, |it| it.api = plugin.into(), expected);
    }

    #[test]
    fn what_this_host_builds_fits_it() {
        assert_eq!(check(&fitting()), Ok(()));
    }

    #[test]
    fn this_host_has_no_extensions() {
        let needy = Manifest { needs: vec!["state".into(), "lsp".into()], ..fitting() };
        let message = "the plugin needs what this host does not have: `state`, `lsp`";
        assert_eq!(check(&needy), Err(Refusal::new(Code::Capability, message)));
    }

    #[test]
    fn one_line_of_the_api_fits_both_ways() {
        check_api("0.3.1", "0.3.0", "");
        check_api("0.3.1", "0.3.9", "");
        check_api("0.3.1", "0.3.2-rc.1", "");
        check_api("1.4.0", "1.0.0", "");
        check_api("1.4.0", "1.9.3", "");
    }

    #[test]
    fn another_line_says_who_is_behind() {
        let old = "so the plugin has to be rebuilt with the newer API";
        let new = "so the host has to be updated";
        let check = |host: &str, plugin: &str, who: &str| {
            let expected = format!(
                "E-API: the plugin has the plugin API {plugin}, and this host {host}, {who}"
            );
            check_api(host, plugin, &expected);
        };
        check("0.3.1", "0.2.9", old);
        check("0.3.1", "0.4.0", new);
        check("0.3.1", "1.3.1", new);
        check("1.4.0", "0.4.0", old);
        check("1.4.0", "2.0.0", new);
        check("2.0.0", "1.9.0", old);
    }

    #[test]
    fn a_plugin_may_ask_for_a_newer_host() {
        let asks = |version: &'static str| move |it: &mut Manifest| it.min_host = version.into();
        check_on("1.4.2", asks("1.4.2"), "");
        check_on("1.4.2", asks("0.9.0"), "");
        check_on("1.4.2", asks("1.4.2+build.7"), "");
        check_on(
            "1.4.2",
            asks("1.5.0"),
            "E-API: the plugin needs a host of the plugin API 1.5.0 or newer, and this host has \
             1.4.2, so the host has to be updated",
        );
    }

    #[test]
    fn extensions_are_named_that_lack() {
        let needs = |names: &'static [&str]| {
            move |it: &mut Manifest| it.needs = names.iter().map(|&name| name.into()).collect()
        };
        check_on("1.0.0", needs(&["b", "a"]), "");
        check_on(
            "1.0.0",
            needs(&["a", "c"]),
            "E-CAPABILITY: the plugin needs what this host does not have: `c`",
        );
    }

    #[test]
    fn a_manifest_is_well_formed() {
        let symbol = |name: &'static str| move |it: &mut Manifest| it.symbol = name.into();
        check_on(
            "1.0.0",
            |it| it.version = "1".into(),
            "E-MANIFEST: the manifest's `version` is `1`, which is no version: unexpected end of \
             input while parsing major version number",
        );
        check_on(
            "1.0.0",
            |it| it.api = "x".into(),
            "E-MANIFEST: the manifest's `api` is `x`, which is no version: unexpected character \
             'x' while parsing major version number",
        );
        check_on(
            "1.0.0",
            |it| it.min_host = "".into(),
            "E-MANIFEST: the manifest's `min_host` is ``, which is no version: empty string, \
             expected a semver version",
        );
        check_on(
            "1.0.0",
            symbol("main"),
            "E-MANIFEST: the manifest's `symbol` is \"main\", which is not LOCKGATE_PLUGIN_V1__ \
             and a name",
        );
        check_on(
            "1.0.0",
            symbol("LOCKGATE_PLUGIN_V1__"),
            "E-MANIFEST: the manifest's `symbol` is \"LOCKGATE_PLUGIN_V1__\", which is not \
             LOCKGATE_PLUGIN_V1__ and a name",
        );
        check_on(
            "1.0.0",
            symbol("LOCKGATE_PLUGIN_V1__a\0"),
            "E-MANIFEST: the manifest's `symbol` is \"LOCKGATE_PLUGIN_V1__a\\0\", which is not \
             LOCKGATE_PLUGIN_V1__ and a name",
        );
    }

    #[test]
    fn the_first_thing_that_does_not_fit_decides() {
        let mut manifest = Manifest {
            version: "one".into(),
            api: "9.0.0".into(),
            needs: vec!["c".into()],
            panic: "abort".into(),
            target: "pdp11-unknown-none".into(),
            ..fitting()
        };
        let mut codes = Vec::new();
        let mut next = |manifest: &Manifest| codes.push(check(manifest).unwrap_err().code());
        next(&manifest);
        manifest.version = "1.0.0".into();
        next(&manifest);
        manifest.target = TARGET.into();
        next(&manifest);
        manifest.panic = "unwind".into();
        next(&manifest);
        manifest.api = API_VERSION.into();
        next(&manifest);
        assert_eq!(codes, [Code::Manifest, Code::Target, Code::Panic, Code::Api, Code::Capability]);
    }

    #[test]
    fn target_and_panic_strategy_are_named() {
        check_on(
            "1.0.0",
            |it| it.target = "pdp11-unknown-none".into(),
            &format!(
                "E-TARGET: the plugin is built for pdp11-unknown-none, and this host for {TARGET}"
            ),
        );
        check_on(
            "1.0.0",
            |it| it.panic = "abort".into(),
            "E-PANIC: the plugin is built with the panic strategy `abort`, so a panic in it would \
             end the host",
        );
        check_on("1.0.0", |it| it.panic = "none".into(), "");
    }
}
