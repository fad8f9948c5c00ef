//! However a file is replaced, one replacement is one load, of a whole file.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, SystemTime};

use lockgate::{HostOptions, WatchOptions};

use crate::stage::{Stage, build, good};

/// How often each way is tried: `LOCKGATE_WRITERS` times where that is set.
static TIMES: LazyLock<usize> = LazyLock::new(|| {
    env::var("LOCKGATE_WRITERS").map_or(3, |it| it.parse().expect("LOCKGATE_WRITERS is a number"))
});

/// Replaces the plugin by `write`, which is given where it stands, a directory aside, and the next
/// build; each time there is one load, and it is of that build.
async fn check(write: impl Fn(&Path, &Path, &[u8]) + Copy + Send + 'static) {
    check_with(WatchOptions::default(), write).await;
}

/// As [`check`], with this watch.
async fn check_with(
    watch: WatchOptions,
    write: impl Fn(&Path, &Path, &[u8]) + Copy + Send + 'static,
) {
    let stage = Stage::with(HostOptions::default(), watch);
    for number in 1..=*TIMES {
        replace(&stage, &build(&good(number)), write).await;
        stage.until_live(&good(number)).await;
    }
    stage.put(&build(&good(*TIMES + 1)));
    stage.until_live(&good(*TIMES + 1)).await;
    stage.until_loads(*TIMES + 2).await;
}

async fn replace(
    stage: &Stage,
    bytes: &[u8],
    write: impl FnOnce(&Path, &Path, &[u8]) + Send + 'static,
) {
    let (file, aside, bytes) = (stage.file(), stage.aside.path().to_owned(), bytes.to_vec());
    tokio::task::spawn_blocking(move || write(&file, &aside, &bytes)).await.unwrap();
}

/// What a slow writer does between two pieces.
fn dawdle() {
    thread::sleep(Duration::from_millis(120));
}

fn create(file: &Path) -> File {
    OpenOptions::new().write(true).create(true).truncate(true).open(file).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_from_elsewhere() {
    check(|file, aside, bytes| {
        fs::write(aside.join("x"), bytes).unwrap();
        fs::rename(aside.join("x"), file).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_with_an_older_time() {
    check(|file, aside, bytes| {
        fs::write(aside.join("x"), bytes).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        File::options().write(true).open(aside.join("x")).unwrap().set_modified(old).unwrap();
        fs::rename(aside.join("x"), file).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copied_over() {
    check(|file, _, bytes| {
        let mut out = create(file);
        bytes.chunks(128 << 10).for_each(|it| out.write_all(it).unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn written_slowly() {
    check(|file, _, bytes| {
        let mut out = create(file);
        for piece in bytes.chunks(bytes.len() / 4 + 1) {
            out.write_all(piece).unwrap();
            dawdle();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appended_by_several_writers_one_after_the_other() {
    check(|file, _, bytes| {
        drop(create(file));
        for piece in bytes.chunks(bytes.len() / 3 + 1) {
            OpenOptions::new().append(true).open(file).unwrap().write_all(piece).unwrap();
            dawdle();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn made_as_long_as_it_will_be_and_written_from_the_end() {
    check(|file, _, bytes| {
        let out = OpenOptions::new().write(true).open(file).unwrap();
        out.set_len(0).unwrap();
        out.set_len(bytes.len() as u64).unwrap();
        dawdle();
        let (half, quarter) = (bytes.len() / 2, bytes.len() / 4);
        out.write_all_at(&bytes[half..], half as u64).unwrap();
        dawdle();
        out.write_all_at(&bytes[..quarter], 0).unwrap();
        dawdle();
        out.write_all_at(&bytes[quarter..half], quarter as u64).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_and_written_anew_as_linkers_do() {
    check(|file, _, bytes| {
        fs::remove_file(file).unwrap();
        let mut out = create(file);
        dawdle();
        bytes.chunks(4096).for_each(|it| out.write_all(it).unwrap());
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_and_written_a_while_later() {
    check(|file, _, bytes| {
        fs::remove_file(file).unwrap();
        dawdle();
        fs::write(file, bytes).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn linked_as_cargo_does() {
    check(|file, aside, bytes| {
        let built = aside.join("built");
        let _ = fs::remove_file(&built);
        fs::write(&built, bytes).unwrap();
        fs::remove_file(file).unwrap();
        fs::hard_link(&built, file).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn written_beside_and_moved() {
    check(|file, _, bytes| {
        let beside = file.with_extension("so.tmp");
        let mut out = create(&beside);
        for piece in bytes.chunks(bytes.len() / 3 + 1) {
            out.write_all(piece).unwrap();
            dawdle();
        }
        fs::rename(beside, file).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_builds_in_a_row_are_one() {
    // Longer than a busy machine takes from one to the next.
    let watch = WatchOptions { quiet: Duration::from_millis(500), ..WatchOptions::default() };
    check_with(watch, |file, _, bytes| {
        for stamp in ["00000000x-", "00000000y-"] {
            fs::write(file, build(stamp)).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        fs::write(file, bytes).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_a_directory_that_is_changed_to_another() {
    let stage = Stage::new();
    let dir = stage.dir.path();
    let version = |number: usize| {
        let version = dir.join(format!("..v{number}"));
        fs::create_dir(&version).unwrap();
        fs::write(version.join("libstamped.so"), build(&good(number))).unwrap();
        let link = dir.join("..data_tmp");
        symlink(&version, &link).unwrap();
        fs::rename(&link, dir.join("..data")).unwrap();
    };
    version(1);
    fs::remove_file(stage.file()).unwrap();
    symlink("..data/libstamped.so", stage.file()).unwrap();
    stage.until_live(&good(1)).await;
    for number in 2..=4 {
        version(number);
        stage.until_live(&good(number)).await;
    }
    stage.until_loads(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_nothing_loads_nothing() {
    let stage = Stage::new();
    for _ in 0..*TIMES {
        let touch = |file: &Path, _: &Path, bytes: &[u8]| {
            let out = File::options().write(true).open(file).unwrap();
            out.set_modified(SystemTime::now()).unwrap();
            drop(out);
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
            assert_eq!(fs::read(file).unwrap(), bytes);
            fs::write(file, bytes).unwrap();
        };
        replace(&stage, &build(&good(0)), touch).await;
    }
    stage.put(&build(&good(1)));
    stage.until_live(&good(1)).await;
    stage.until_loads(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_itself_is_moved_and_made_anew() {
    let stage = Stage::new();
    let (dir, away) = (stage.dir.path().to_owned(), stage.aside.path().join("away"));
    fs::rename(&dir, &away).unwrap();
    assert_eq!(stage.call().await, format!("{0}/{0}", good(0)));
    fs::create_dir(&dir).unwrap();
    fs::write(stage.file(), build(&good(1))).unwrap();
    stage.until_live(&good(1)).await;
    // What happens to the one that was moved away is no concern of ours.
    fs::write(away.join("libstamped.so"), build(&good(2))).unwrap();
    stage.put(&build(&good(3)));
    stage.until_live(&good(3)).await;
    stage.until_loads(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_can_come_later() {
    let stage = Stage::new();
    let path = stage.dir.path().join("libpuppet.so");
    fs::copy(lockgate_tests::library("puppet"), path).unwrap();
    stage.until_state("libpuppet.so: live").await;
}
