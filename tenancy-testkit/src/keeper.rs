//! Server programs that end with this process, run by somebody who isn't root.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Neither Postgres nor PgBouncer runs as root, so root lends them an ordinary user.
#[derive(Clone, Copy)]
pub(crate) struct ServerUser(Option<(u32, u32)>);

impl ServerUser {
    pub(crate) fn choose() -> io::Result<Self> {
        if effective_uid()? != 0 {
            return Ok(Self(None));
        }
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let ids = |name: &str| {
            accounts.lines().find_map(|line| {
                let mut fields = line.split(':');
                (fields.next()? == name).then_some(())?;
                Some((fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?))
            })
        };
        Ok(Self(Some(ids("postgres").or_else(|| ids("nobody")).unwrap_or((NOBODY, NOBODY)))))
    }

    /// A folder that only this user can enter: where `TMPDIR` says, else in memory if there is room, else on disk.
    pub(crate) fn private_directory(self, prefix: &str) -> io::Result<TempDir> {
        let base = match std::env::var_os("TMPDIR") {
            None if has_room(Path::new(IN_MEMORY)) => PathBuf::from(IN_MEMORY),
            // A socket's whole path has about a hundred bytes at most.
            Some(named) if named.len() < 60 => PathBuf::from(named),
            None | Some(_) => PathBuf::from("/tmp"),
        };
        let owner_only = PermissionsExt::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix(prefix).permissions(owner_only).tempdir_in(base)?;
        self.own(directory.path())?;
        Ok(directory)
    }

    /// A folder that this user owns, unless it is there.
    #[cfg(feature = "redis")]
    pub(crate) fn create_folder(self, folder: &Path) -> io::Result<()> {
        if !folder.is_dir() {
            std::fs::create_dir(folder)?;
            self.own(folder)?;
        }
        Ok(())
    }

    /// A file that this user owns.
    #[cfg(feature = "pg")]
    pub(crate) fn write(self, file: &Path, text: &str) -> io::Result<()> {
        std::fs::write(file, text)?;
        self.own(file)
    }

    pub(crate) fn command(self, program: &Path) -> Command {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(program);
        if let Self(Some((uid, gid))) = self {
            command.uid(uid).gid(gid);
        }
        // A group of its own: Ctrl-C is for the test, whose end the server then notices.
        command.process_group(0).current_dir("/").env_remove("PGOPTIONS").env("LC_ALL", "C");
        command
    }

    fn own(self, path: &Path) -> io::Result<()> {
        match self.0 {
            Some((uid, gid)) => std::os::unix::fs::chown(path, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }
}

/// Whether a suite's databases find room here, some hundreds of eight megabytes. Not known is no.
fn has_room(folder: &Path) -> bool {
    let shown = Command::new("df").args(["--output=avail", "--block-size=1M"]).arg(folder).output();
    let megabytes = |text: Vec<u8>| String::from_utf8(text).ok()?.lines().last()?.trim().parse::<u64>().ok();
    shown.ok().and_then(|output| megabytes(output.stdout)).is_some_and(|free| free >= ROOM)
}

/// A new database is made of some three hundred files: here in a fifth of the time that a disk's cache takes.
const IN_MEMORY: &str = "/dev/shm";
const ROOM: u64 = 8 * 1024;

/// The owner of a new file is who we are.
fn effective_uid() -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(tempfile::tempfile()?.metadata()?.uid())
}

/// A program of the path, or of where Debian puts those that only root is to run.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let folders = search_path().into_iter().chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

pub(crate) fn search_path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

/// A port that nobody has just now. Somebody else may take it before the server does; the server then fails and says so.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The shell that keeps a server, and whose input is our life line.
///
/// Whether this value is dropped, the test panics, or the process is killed: the shell sees its input close, stops the
/// server and removes its folder.
pub(crate) struct Keeper(Child);

impl Keeper {
    /// Runs `program` with its output in [`LOG`] of `directory`; `signal` is the one that asks it to end at once.
    pub(crate) fn start(
        user: ServerUser,
        directory: &Path,
        signal: &str,
        program: &Path,
        arguments: &[String],
    ) -> io::Result<Self> {
        let child = user
            .command(Path::new("/bin/sh"))
            .args(["-c", SCRIPT, "keeper"])
            .arg(directory)
            .arg(signal)
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _reaped = self.0.wait();
    }
}

/// What the server of this folder said.
pub(crate) fn log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join(LOG)).unwrap_or_default()
}

const NOBODY: u32 = 65534;
const LOG: &str = "server.log";

/// Starts the server, waits for the end of its input, stops the server (gently, then hard) and removes the folder.
const SCRIPT: &str = r#"
directory=$1 signal=$2
shift 2
"$@" </dev/null >"$directory/server.log" 2>&1 &
server=$!
cat >/dev/null
kill -$signal $server 2>/dev/null
tries=0
while kill -0 $server 2>/dev/null && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
kill -KILL $server 2>/dev/null
wait $server 2>/dev/null
rm -rf "$directory"
"#;
