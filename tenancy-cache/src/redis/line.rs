//! The connection: made by a task of its own, watched, and made anew.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{Route, SingleNodeRoutingInfo, SlotAddr};
use redis::{AsyncConnectionConfig, Client, Cmd, Value, cmd};
use secrecy::ExposeSecret;
use tokio::sync::watch;
use tokio::time::sleep;

use super::history::History;
use super::options::{RedisError, RedisOptions, at_once};

/// To a server or a cluster.
pub(super) struct Line(Arc<Shared>);

struct Shared {
    dial: Dial,
    state: watch::Sender<State>,
    trouble: Mutex<Trouble>,
}

#[derive(Clone)]
enum State {
    /// Nobody has asked yet, or the first attempt is under way: calls wait for it.
    New,
    Up(Wire),
    /// The last attempt failed; the next one is under way. Calls don't wait.
    Down,
}

/// What is known to be wrong.
#[derive(Default)]
struct Trouble {
    /// A task is connecting.
    is_dialling: bool,
    /// Calls without an answer on the present connection, and when the first of them was.
    silent: u32,
    since: Option<Instant>,
}

#[derive(Clone)]
enum Wire {
    Server(MultiplexedConnection, Arc<Mutex<Witness>>),
    Cluster(ClusterConnection),
}

/// The history of a connection's server, and when it said so.
struct Witness(History, Instant);

/// How to connect.
#[derive(Clone)]
enum Dial {
    Server(Client, AsyncConnectionConfig),
    Cluster(ClusterClient),
}

impl Line {
    pub(super) fn new(options: &RedisOptions) -> Result<Self, RedisError> {
        let (state, _) = watch::channel(State::New);
        Ok(Self(Arc::new(Shared { dial: Dial::new(options)?, state, trouble: Mutex::default() })))
    }

    /// Connects apart from all else, and asks for a name.
    pub(super) async fn check(&self, name: &str) -> Result<(), RedisError> {
        self.0.dial.connect().await?.look(&[name]).await.map(drop)
    }

    /// The values of names in one slot, and the history of the server that has them.
    pub(super) async fn look(&self, names: &[&str]) -> Result<(History, Vec<Option<Vec<u8>>>), RedisError> {
        let wire = self.wire().await?;
        self.watched(wire.look(names)).await
    }

    pub(super) async fn look_one(&self, name: &str) -> Result<(History, Option<Vec<u8>>), RedisError> {
        let (history, values) = self.look(&[name]).await?;
        values.into_iter().next().map(|value| (history, value)).ok_or(RedisError::BadAnswer)
    }

    /// Sends a command about one key that is answered with "OK". It is sent once: nobody knows whether one that was not
    /// answered was done.
    pub(super) async fn order(&self, command: &Cmd) -> Result<(), RedisError> {
        let answer = |value| matches!(value, Value::Okay).then_some(());
        self.command(command, answer).await
    }

    /// As [`order`](Self::order), answered with a number.
    pub(super) async fn count(&self, command: &Cmd) -> Result<u64, RedisError> {
        let answer = |value| if let Value::Int(number) = value { u64::try_from(number).ok() } else { None };
        self.command(command, answer).await
    }

    async fn command<T>(&self, command: &Cmd, answer: fn(Value) -> Option<T>) -> Result<T, RedisError> {
        let wire = self.wire().await?;
        self.watched(async { answer(wire.command(command).await?).ok_or(RedisError::BadAnswer) }).await
    }

    async fn wire(&self) -> Result<Wire, RedisError> {
        if let State::Up(wire) = &*self.0.state.borrow() {
            return Ok(wire.clone());
        }
        Shared::dial(&self.0);
        let mut state = self.0.state.subscribe();
        match state.wait_for(|state| !matches!(state, State::New)).await.as_deref() {
            Ok(State::Up(wire)) => Ok(wire.clone()),
            Ok(State::New | State::Down) | Err(_) => Err(RedisError::NotConnected),
        }
    }

    async fn watched<T>(&self, call: impl Future<Output = Result<T, RedisError>>) -> Result<T, RedisError> {
        let answer = call.await;
        match &answer {
            Err(error) if error.is_unreachable() => self.0.note_silence(),
            // Another question's, so all that follow may be.
            Err(RedisError::BadAnswer) => self.0.distrust(),
            Ok(_) | Err(_) => self.0.note_answer(),
        }
        if self.0.is_silent() {
            // A cluster's other nodes answer; a single server has no others.
            if matches!(self.0.dial, Dial::Server(..)) {
                self.0.state.send_replace(State::Down);
            }
            Shared::dial(&self.0);
        }
        answer
    }
}

impl Shared {
    /// Connects in a task of its own, unless one does: a caller's patience may be shorter than a handshake.
    fn dial(this: &Arc<Self>) {
        let mut trouble = this.lock();
        if trouble.is_dialling {
            return;
        }
        trouble.is_dialling = true;
        drop(trouble);
        tokio::spawn(Self::dial_until_up(Arc::downgrade(this), this.dial.clone()));
    }

    /// Ends with the line as well.
    async fn dial_until_up(this: Weak<Self>, dial: Dial) {
        let mut pause = FIRST_PAUSE;
        loop {
            let connected = dial.connect().await;
            let Some(shared) = this.upgrade() else { return };
            match connected {
                Ok(wire) => {
                    *shared.lock() = Trouble::default();
                    shared.state.send_replace(State::Up(wire));
                    return;
                }
                Err(_unreachable) => {
                    shared.state.send_if_modified(|state| {
                        let waits = matches!(state, State::New);
                        if waits {
                            *state = State::Down;
                        }
                        waits
                    });
                }
            }
            drop(shared);
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Of a cluster one node alone may be silent, so others' answers don't count against it.
    fn note_answer(&self) {
        if matches!(self.dial, Dial::Server(..)) {
            let mut trouble = self.lock();
            (trouble.silent, trouble.since) = (0, None);
        }
    }

    fn note_silence(&self) {
        let mut trouble = self.lock();
        if trouble.since.is_none_or(|since| since.elapsed() > FORGIVEN) {
            (trouble.silent, trouble.since) = (0, Some(Instant::now()));
        }
        trouble.silent += 1;
    }

    fn distrust(&self) {
        let mut trouble = self.lock();
        (trouble.silent, trouble.since) = (SILENT, Some(Instant::now()));
    }

    fn is_silent(&self) -> bool {
        self.lock().silent >= SILENT
    }

    fn lock(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire {
    async fn look(self, names: &[&str]) -> Result<(History, Vec<Option<Vec<u8>>>), RedisError> {
        let mut command = cmd("MGET");
        command.arg(names);
        let (history, found) = match self {
            Self::Server(mut connection, witness) => {
                let found: Value = command.query_async(&mut connection).await?;
                (Witness::ask(&witness, connection).await?, found)
            }
            Self::Cluster(mut connection) => {
                // Which of the nodes answers is the client's affair, so it says with each answer who it is. After the values:
                // who became a primary in between must not vouch for what it had before.
                let pipeline = redis::pipe().add_command(command).add_command(info()).clone();
                let route = names.first().map(|name| Route::with_key(name, SlotAddr::Master));
                let node = SingleNodeRoutingInfo::from(route);
                let answers = connection.route_pipeline(pipeline, 0, 2, node).await?;
                let [found, info] = <[Value; 2]>::try_from(answers).map_err(|_| RedisError::BadAnswer)?;
                let found = found.extract_error()?;
                (history_of(info.extract_error()?)?, found)
            }
        };
        let values: Vec<_> = redis::from_redis_value(found).map_err(|_| RedisError::BadAnswer)?;
        if values.len() == names.len() { Ok((history, values)) } else { Err(RedisError::BadAnswer) }
    }

    async fn command(self, command: &Cmd) -> Result<Value, RedisError> {
        Ok(match self {
            Self::Server(mut connection, _) => command.query_async(&mut connection).await?,
            Self::Cluster(mut connection) => command.query_async(&mut connection).await?,
        })
    }
}

impl Witness {
    /// The history of a connection, which is asked for again every second: a server that was primary, lost its place and
    /// has it again keeps its connections all the while.
    async fn ask(seen: &Mutex<Self>, mut connection: MultiplexedConnection) -> Result<History, RedisError> {
        {
            let Self(history, at) = &*seen.lock().unwrap_or_else(PoisonError::into_inner);
            if at.elapsed() < BELIEVED {
                return Ok(*history);
            }
        }
        let history = history_of(info().query_async(&mut connection).await?)?;
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = Self(history, Instant::now());
        Ok(history)
    }
}

impl Dial {
    fn new(options: &RedisOptions) -> Result<Self, RedisError> {
        let (connect, response) = (options.connect_timeout, options.response_timeout);
        if options.is_cluster {
            // What was not answered is not sent again: nobody knows whether it was done.
            let mut builder = redis::cluster::ClusterClientBuilder::new(options.nodes.clone())
                .retries(0)
                .tcp_settings(at_once())
                .connection_timeout(connect)
                .response_timeout(response)
                .overall_response_timeout(Some(response * 2));
            if let Some((user, password)) = &options.login {
                builder = builder.password(password.expose_secret());
                if let Some(user) = user {
                    builder = builder.username(user);
                }
            }
            return Ok(Self::Cluster(builder.build()?));
        }
        let node = options.nodes.first().cloned().ok_or(RedisError::BadAddress("names no node"))?;
        let node = match &options.login {
            None => node,
            Some((user, password)) => {
                let settings = node.redis_settings().clone().set_password(password.expose_secret());
                let settings = match user {
                    Some(user) => settings.set_username(user),
                    None => settings,
                };
                node.set_redis_settings(settings)
            }
        };
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(connect)).set_response_timeout(Some(response));
        Ok(Self::Server(Client::open(node)?, config))
    }

    async fn connect(&self) -> Result<Wire, RedisError> {
        match self {
            Self::Server(client, config) => {
                let mut connection = client.get_multiplexed_async_connection_with_config(config).await?;
                let history = history_of(info().query_async(&mut connection).await?)?;
                Ok(Wire::Server(connection, Arc::new(Mutex::new(Witness(history, Instant::now())))))
            }
            Self::Cluster(client) => Ok(Wire::Cluster(client.get_async_connection().await?)),
        }
    }
}

fn info() -> Cmd {
    let mut command = cmd("INFO");
    command.arg("server").arg("replication");
    command
}

fn history_of(info: Value) -> Result<History, RedisError> {
    let info: String = redis::from_redis_value(info).map_err(|_| RedisError::BadAnswer)?;
    History::parse(&info).ok_or(RedisError::NoHistory)
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &*self.0.state.borrow() {
            State::New => "new",
            State::Up(_) => "up",
            State::Down => "down",
        };
        write!(f, "Line({state})")
    }
}

/// So many calls without an answer within a while, and the connection is given up.
const SILENT: u32 = 3;
const FORGIVEN: Duration = Duration::from_secs(5);
const BELIEVED: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
