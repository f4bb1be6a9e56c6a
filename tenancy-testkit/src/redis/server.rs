//! A throwaway server.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::process::Command;

use crate::keeper::{self, Keeper, ServerUser, free_port};

/// A real server of its own on a port of 127.0.0.1, gone with this value.
///
/// It saves when it is told to and at no other time, and is killed with the process, as every throwaway server is. It can
/// be frozen, killed and started again on what it had saved.
pub struct ThrowawayRedis {
    // In this order: the server ends before its folder goes.
    keeper: Option<Keeper>,
    root: TempDir,
    user: ServerUser,
    program: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    starts: u32,
}

impl ThrowawayRedis {
    /// Starts a server.
    ///
    /// # Errors
    /// [`RedisUnavailable`], which says what to type when no server is installed.
    pub async fn start() -> Result<Self, RedisUnavailable> {
        Self::start_with(&[]).await
    }

    /// Starts a server with settings in place of the usual ones, such as `("maxmemory", "4mb")`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(settings: &[(&str, &str)]) -> Result<Self, RedisUnavailable> {
        let program = keeper::program("redis-server").ok_or(RedisUnavailable::NotInstalled)?;
        let user = ServerUser::choose()?;
        let root = user.private_directory("tenancy-redis-")?;
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut server = Self { keeper: None, root, user, program, port: free_port()?, settings, starts: 0 };
        server.restart().await?;
        Ok(server)
    }

    /// The port of 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it is, as `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The folder of what it saves, `dump.rdb`.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.root.path().join(DATA)
    }

    /// Asks the server something by `redis-cli`, and gives back what it answered, a line for each item.
    ///
    /// # Panics
    /// When there is no answer; an error of the server's is one.
    pub async fn command(&self, arguments: &[&str]) -> String {
        let answered = self.try_command(arguments).await;
        answered.unwrap_or_else(|| panic!("no answer to {arguments:?}"))
    }

    pub(super) async fn try_command(&self, arguments: &[&str]) -> Option<String> {
        let port = self.port.to_string();
        let mut command = Command::new(keeper::program("redis-cli")?);
        command.args(["-h", "127.0.0.1", "-p", &port, "--no-auth-warning"]).args(arguments);
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        output.status.success().then(|| text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Stops the process where it is: connections stay open and nothing is answered.
    ///
    /// # Panics
    /// When the server is not running; so do the next two.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Ends the process at once, with whatever it had not saved.
    pub fn kill(&mut self) {
        self.signal("KILL");
        self.keeper = None;
    }

    /// Starts it again after a [`kill`](Self::kill), on the same port, with what is in its folder.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn restart(&mut self) -> Result<(), RedisUnavailable> {
        self.keeper = None;
        self.starts += 1;
        // The keeper takes its own folder with it, and what was saved stays.
        let (data, run) = (self.directory(), self.root.path().join(format!("run-{}", self.starts)));
        for folder in [&data, &run] {
            self.user.create_folder(folder)?;
        }
        let arguments = self.arguments(&data, &run);
        self.keeper = Some(Keeper::start(self.user, &run, "KILL", &self.program, &arguments)?);
        let deadline = Instant::now() + START_PATIENCE;
        while self.try_command(&["ping"]).await.is_none_or(|answer| answer != "PONG") {
            if Instant::now() > deadline {
                return Err(RedisUnavailable::Failed { log: keeper::log(&run) });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    fn arguments(&self, data: &Path, run: &Path) -> Vec<String> {
        let own = [
            ("port", self.port.to_string()),
            ("bind", "127.0.0.1".to_owned()),
            ("dir", data.display().to_string()),
            ("pidfile", run.join(PID).display().to_string()),
            ("save", String::new()),
            ("appendonly", "no".to_owned()),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let all = own.chain(self.settings.iter().cloned());
        all.flat_map(|(name, value)| [format!("--{name}"), value]).collect()
    }

    fn signal(&self, name: &str) {
        let file = self.root.path().join(format!("run-{}", self.starts)).join(PID);
        let pid = std::fs::read_to_string(file).expect("a running server has a pid file");
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), pid.trim()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "no signal could be sent");
    }
}

impl fmt::Debug for ThrowawayRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThrowawayRedis({})", self.root.path().display())
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisUnavailable {
    /// The programs were not found.
    #[error("Redis is not installed; type: apt-get install -y redis-server")]
    NotInstalled,
    /// Something of the system failed.
    #[error("the server could not be set up: {0}")]
    System(#[from] io::Error),
    /// The server did not come up.
    #[error("the server failed:\n{log}")]
    Failed {
        /// What it said.
        log: String,
    },
}

const DATA: &str = "data";
const PID: &str = "redis.pid";
const START_PATIENCE: Duration = Duration::from_secs(20);
