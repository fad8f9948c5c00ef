//! Why a file did not become a live plugin: a code that stays, and a sentence.

use std::fmt::{self, Display, Formatter};

/// One reason for which a file is not loaded, and what is wrong with this one.
///
/// Plain data without a cause behind it: it outlives the attempt, so a cause is told in the
/// sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Refusal {
    code: Code,
    message: String,
}

impl Refusal {
    /// A refusal; `message` is one sentence, in lower case and without its full stop, that names
    /// the facts.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The reason, as programs know it.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong with the file.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, one sentence.
    pub fn remedy(&self) -> &'static str {
        self.code.remedy()
    }
}

/// The reasons, in the order in which a file is examined. Their names never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The file cannot be read.
    Io,
    /// It is not a file, or too large for a plugin.
    File,
    /// It is no shared library of a kind that this host loads.
    Format,
    /// Its end is missing.
    Truncated,
    /// It is built for another machine.
    Arch,
    /// It does not say that it is a plugin.
    Note,
    /// What it says of itself cannot be read, or contradicts itself.
    Manifest,
    /// It is built for another target.
    Target,
    /// A panic in it would end the process.
    Panic,
    /// It and the host speak different versions of the plugin API.
    Api,
    /// It needs an extension that the host does not have.
    Capability,
    /// Another file is already the plugin of this name.
    Duplicate,
    /// It misbehaved before.
    Quarantined,
    /// The process has no room for another load.
    Budget,
    /// It has static thread-local storage, so it cannot be loaded again.
    StaticTls,
    /// It crashed, hung or said nothing sensible in a child process.
    Probe,
    /// The dynamic linker refused it.
    Dlopen,
    /// Its exported symbol is missing, or is not what it should be.
    Entry,
    /// It describes its layouts in a way that the host cannot read.
    Sabi,
    /// Its types are laid out in another way than the host's.
    Layout,
    /// A table of it lacks a field.
    Fields,
    /// It could not be created.
    Create,
    /// It could not be started.
    Start,
    /// Calls that began with the one before it do not end.
    Busy,
    /// It cannot take over what the one before it leaves.
    State,
    /// A tool of it is described by a schema that the host cannot check.
    Schema,
}

impl Code {
    /// Every code, in the order of the checks.
    pub const ALL: [Self; 26] = [
        Self::Io,
        Self::File,
        Self::Format,
        Self::Truncated,
        Self::Arch,
        Self::Note,
        Self::Manifest,
        Self::Target,
        Self::Panic,
        Self::Api,
        Self::Capability,
        Self::Duplicate,
        Self::Quarantined,
        Self::Budget,
        Self::StaticTls,
        Self::Probe,
        Self::Dlopen,
        Self::Entry,
        Self::Sabi,
        Self::Layout,
        Self::Fields,
        Self::Create,
        Self::Start,
        Self::Busy,
        Self::State,
        Self::Schema,
    ];

    /// The code that is written like this.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// The code, as users and programs read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Io => "E-IO",
            Self::File => "E-FILE",
            Self::Format => "E-FORMAT",
            Self::Truncated => "E-TRUNCATED",
            Self::Arch => "E-ARCH",
            Self::Note => "E-NOTE",
            Self::Manifest => "E-MANIFEST",
            Self::Target => "E-TARGET",
            Self::Panic => "E-PANIC",
            Self::Api => "E-API",
            Self::Capability => "E-CAPABILITY",
            Self::Duplicate => "E-DUPLICATE",
            Self::Quarantined => "E-QUARANTINED",
            Self::Budget => "E-BUDGET",
            Self::StaticTls => "E-STATIC-TLS",
            Self::Probe => "E-PROBE",
            Self::Dlopen => "E-DLOPEN",
            Self::Entry => "E-ENTRY",
            Self::Sabi => "E-SABI",
            Self::Layout => "E-LAYOUT",
            Self::Fields => "E-FIELDS",
            Self::Create => "E-CREATE",
            Self::Start => "E-START",
            Self::Busy => "E-BUSY",
            Self::State => "E-STATE",
            Self::Schema => "E-SCHEMA",
        }
    }

    /// What a user does about it, one sentence.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Io => "Check that the file exists and that you may read it.",
            Self::File => "Put the plugin's shared library itself at this path.",
            Self::Format => "Build the plugin with `crate-type = [\"cdylib\"]` and use that file.",
            Self::Truncated => "Wait until the file is written, or copy it again whole.",
            Self::Arch => "Build the plugin for the machine that this host runs on.",
            Self::Note => {
                "Export the plugin with `export_plugin!`, or take the file out of the directory."
            }
            Self::Manifest => "Build the plugin again with a released version of the plugin API.",
            Self::Target => "Build the plugin with `--target` set to this host's target.",
            Self::Panic => "Build the plugin with `panic = \"unwind\"` in its profile.",
            Self::Api => "Use a plugin and a host of the same line of the plugin API.",
            Self::Capability => "Use a host that has the extension, or a plugin without the need.",
            Self::Duplicate => "Remove one of the two files, or rename one of the plugins.",
            Self::Quarantined => {
                "Build the plugin again, or let it in with `lockgate plugins quarantine clear`."
            }
            Self::Budget => "Restart the host: what was loaded before takes the room.",
            Self::StaticTls => "Restart the host to load the changed file.",
            Self::Probe => "Ask who makes the plugin; it would have taken the host along.",
            Self::Dlopen => "Install the libraries that the plugin needs, or link them into it.",
            Self::Entry => "Build the plugin again from clean with `export_plugin!`.",
            Self::Sabi => "Build the plugin again with the abi_stable that the plugin API names.",
            Self::Layout => "Build the plugin again with the host's version of the plugin API.",
            Self::Fields => "Fill in every required field of the plugin's tables.",
            Self::Create => "Correct the plugin's configuration as the message says.",
            Self::Start => "Make available what the plugin acquires at its start.",
            Self::Busy => "Wait: it is tried again and again while those calls run.",
            Self::State => "Restart the host to go on without that state.",
            Self::Schema => {
                "Describe the tool with the supported keywords, and check the rest in its body."
            }
        }
    }
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_its_code_and_one_sentence() {
        let refusal = Refusal::new(Code::StaticTls, "the file has static thread-local storage");
        assert_eq!(refusal.to_string(), "E-STATIC-TLS: the file has static thread-local storage");
        assert_eq!(refusal.message(), "the file has static thread-local storage");
        assert_eq!(refusal.remedy(), "Restart the host to load the changed file.");
    }
}
