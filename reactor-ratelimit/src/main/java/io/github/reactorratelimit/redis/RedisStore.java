package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.algorithm.Tick;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import reactor.core.publisher.Mono;

/**
 * Keeps limits in Redis, shared by all processes that use the same prefix and limiter name. Works on any
 * Lettuce connection: standalone, Sentinel or replicas (read from the master only), Cluster. A connection
 * that you pass in stays yours to close; {@link #connect(String)} makes one. Needs Lettuce 7.0 or later: with
 * an older one no store is made.
 *
 * <pre>{@code
 * RateLimitStore store = RedisStore.of(redisClient.connect())
 *         .whenUnavailable(FailureMode.closed());
 * RateLimiter limiter = RateLimiter.builder(policy).name("orders").store(store).build();
 * }</pre>
 *
 * <p>A decision is one script call on the server's clock. Requests that arrive while a call is in flight
 * share the next one. Limiters with the same name share their keys, so give each limiter its own name.
 */
public final class RedisStore implements RateLimitStore {

    /** The default of {@link #withDeadline(Duration)}. */
    public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(50);

    /** The default of {@link #leasing(Duration)}. */
    public static final Duration DEFAULT_LEASE_TIME = Duration.ofSeconds(1);

    private final RedisConnections connections;
    private final StoreOptions options;

    static {
        RedisScript.load();
    }

    private RedisStore(RedisConnections connections, StoreOptions options) {
        this.connections = connections;
        this.options = options;
    }

    /** Uses a connection to a standalone server, or to the master behind Sentinel. */
    public static RedisStore of(StatefulRedisConnection<String, String> connection) {
        return of(RedisConnections.of(Objects.requireNonNull(connection, "connection")));
    }

    /** Uses a connection to a Cluster. */
    public static RedisStore of(StatefulRedisClusterConnection<String, String> connection) {
        return of(RedisConnections.of(Objects.requireNonNull(connection, "connection")));
    }

    /**
     * Connects to a standalone server ({@code redis://user:password@host:6379}, {@code rediss://} for TLS) or
     * to the master that Sentinels name ({@code redis-sentinel://host:26379,host:26379#master}), with options
     * that suit a limiter and with {@linkplain #withSignals signals}. Each subscription connects. It fails
     * after 5 seconds, or after the {@code ?timeout=} of the URI, with a {@link RedisUnavailableException}.
     * {@linkplain #close() Close} the store when you no longer need it.
     *
     * @throws IllegalArgumentException if the URI is none of these
     */
    public static Mono<RedisStore> connect(String uri) {
        return connect(RedisConnector.parse(uri));
    }

    /**
     * {@link #connect(String)} with a URI in Lettuce's form, whose timeout is used as it is; its default is a
     * minute.
     */
    public static Mono<RedisStore> connect(RedisURI uri) {
        return RedisConnector.connect(Objects.requireNonNull(uri, "uri"))
                .map(RedisConnections::of)
                .map(RedisStore::of);
    }

    /** {@link #connect(String)} to a Cluster. Name one node or more; the client finds the others. */
    public static Mono<RedisStore> connectCluster(String... uris) {
        return connectCluster(Stream.of(uris).map(RedisConnector::parse).toList());
    }

    /** {@link #connectCluster(String...)} with URIs in Lettuce's form. */
    public static Mono<RedisStore> connectCluster(List<RedisURI> uris) {
        return RedisConnector.connectCluster(List.copyOf(uris))
                .map(RedisConnections::of)
                .map(RedisStore::of);
    }

    /**
     * {@link #connect(String)} without waiting for it. The store connects when its first limiter is built,
     * and tries again until a server answers. Until then the {@linkplain #whenUnavailable failure mode}
     * applies; the self-test and the log say why there is no connection.
     *
     * @throws IllegalArgumentException if the URI is not valid
     */
    public static RedisStore connectAside(String uri) {
        return of(RedisConnections.later(RedisConnector.connect(RedisConnector.parse(uri)), false));
    }

    /** {@link #connectAside(String)} to a Cluster. Name one node or more. */
    public static RedisStore connectClusterAside(String... uris) {
        return of(RedisConnections.later(
                RedisConnector.connectCluster(
                        Stream.of(uris).map(RedisConnector::parse).toList()),
                true));
    }

    /**
     * {@link #connectAside(String)} with your client. Makes two connections, one of them for {@linkplain
     * #withSignals signals}. {@link #close()} closes these and not the client; shut that down later.
     */
    public static RedisStore connectAside(RedisClient client) {
        return of(RedisConnections.later(RedisConnector.connect(Objects.requireNonNull(client, "client")), false));
    }

    /** {@link #connectAside(RedisClient)} to a Cluster. */
    public static RedisStore connectAside(RedisClusterClient client) {
        return of(RedisConnections.later(RedisConnector.connect(Objects.requireNonNull(client, "client")), true));
    }

    /**
     * Tests whether limiters can work: the server's version, role and {@code maxmemory-policy} and the
     * permissions of the user, on a Cluster of every master. Tries the commands that the scripts use, on test
     * keys. Never signals an error: what goes wrong is a finding. Each subscription tests.
     *
     * <p>It also runs in the background when the first limiter of a store is built, and logs its findings.
     */
    public Mono<SelfTest> selfTest() {
        return connections.selfTest(options.prefix());
    }

    /** The same store without the self-test when its first limiter is built. */
    public RedisStore withoutSelfTest() {
        return with(options.withSelfTest(false));
    }

    /**
     * Closes the connections that {@link #connect} or {@link #connectAside} made, for this store and all
     * stores derived from it. Close their limiters first. Connections that were passed in stay open.
     */
    public Mono<Void> close() {
        return connections.close();
    }

    static RedisStore of(RedisConnections connections) {
        return new RedisStore(connections, StoreOptions.DEFAULT);
    }

    private RedisStore with(StoreOptions options) {
        return new RedisStore(connections, options);
    }

    /**
     * The same store with signals: a limiter tells those of other processes about refunds, resets, pauses and
     * policy changes, so that their waiters react within a message's time instead of at their next retry. The
     * connection must lead to the same server or Cluster and is used for subscriptions only; it may carry
     * others. Close it after the limiters.
     *
     * @throws IllegalStateException if the store {@linkplain #connectAside(String) connects by itself}: it
     *     has signals already
     */
    public RedisStore withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        return new RedisStore(connections.withSignals(Objects.requireNonNull(pubSub, "pubSub")), options);
    }

    /** The same store with keys that begin with {@code prefix}; default: {@code "ratelimit"}. */
    public RedisStore withPrefix(String prefix) {
        if (Objects.requireNonNull(prefix, "prefix").isBlank() || prefix.contains("{") || prefix.contains("}")) {
            throw new IllegalArgumentException("prefix must not be blank or hold braces, was '" + prefix + "'");
        }
        if (RedisKeys.hasLoneSurrogate(prefix)) {
            throw new IllegalArgumentException("prefix must be valid Unicode: it holds a surrogate without its pair");
        }
        return with(options.withPrefix(prefix));
    }

    /**
     * The same store with all keys in the hash slot of a Cluster that {@code tag} chooses, so that {@link
     * RateLimiter#acquireAll} asks several limiters in one atomic step. All these keys are then on one node:
     * use one tag for each group of limits that belong together. On a standalone server that is one step
     * anyway.
     */
    public RedisStore withHashTag(String tag) {
        if (Objects.requireNonNull(tag, "tag").isBlank()) {
            throw new IllegalArgumentException("tag must not be blank");
        }
        return with(options.withHashTag(tag));
    }

    /**
     * The same store for a policy that is changed by a rollout, process by process. Raise the version by one
     * with every change, also with a rollback. The highest version is in effect: a process with a lower one
     * follows from its first call for a key that a newer process has used, or from a signal, and within half
     * a minute in any case. Usage so far is kept, capped at the new capacity, and waiters get new slots. A
     * permit acquired before the change cannot be refunded after it.
     *
     * <p>Concerns the policy that a limiter is built with, not overrides of a resolver, and no {@link
     * ConcurrencyLimit}. Use {@link RateLimiter#changePolicy} for a change without a rollout.
     *
     * @param epoch the version; default: 0, none
     */
    public RedisStore withPolicyEpoch(long epoch) {
        if (epoch < 0) {
            throw new IllegalArgumentException("epoch must not be negative, was " + epoch);
        }
        Tick.MICROSECOND.check("epoch", epoch);
        return with(options.withPolicyEpoch(epoch));
    }

    /**
     * The same store with another deadline of a request; default: 50 ms. After it the failure mode decides;
     * nothing is sent again.
     */
    public RedisStore withDeadline(Duration deadline) {
        Objects.requireNonNull(deadline, "deadline");
        if (deadline.isZero() || deadline.isNegative() || deadline.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException("deadline must be positive and at most one minute, was " + deadline);
        }
        return with(options.withDeadline(deadline));
    }

    /** The same store with another failure mode; default: {@link FailureMode#closed()}. */
    public RedisStore whenUnavailable(FailureMode mode) {
        return with(options.withFailureMode(Objects.requireNonNull(mode, "mode")));
    }

    /**
     * The same store, whose {@code tryAcquire} is answered on the connection's thread if Redis decides: that
     * saves two changes of thread per round trip. Use it only if your subscribers never block and do little.
     * While one of them runs, nothing that comes over the connection is read, and other requests miss their
     * deadlines. By default decisions come on the limiter's scheduler for callbacks, and a slow subscriber
     * delays only itself.
     */
    public RedisStore answeringOnConnection() {
        return with(options.withOnConnection(true));
    }

    /**
     * The same store without the denial cache. With it, a denial also denies later requests of at least its
     * cost, until Redis would allow what was denied and at most for a second. Refunds of other processes may
     * be noticed that much later. The retry-after of a request that costs more is then a lower bound.
     */
    public RedisStore withoutDenialCache() {
        return with(options.withDenialCache(false));
    }

    /** {@link #leasing(Duration)} with {@link #DEFAULT_LEASE_TIME}. */
    public RedisStore leasing() {
        return leasing(DEFAULT_LEASE_TIME);
    }

    /**
     * The same store with prepaid permits, for hot keys: permits are debited in Redis a batch at a time and
     * spent in this process without a call. The size of a batch follows recent demand. A permit is spent
     * within {@code leaseTime} of its debit or refunded, so the permits spent in a time W are at most what
     * the policy allows in W + {@code leaseTime}.
     *
     * <p>A process holds at most a quarter of a key's capacity, for at most {@code leaseTime}: meanwhile
     * other processes may be denied. If a process dies, that much is lost until the key has recovered.
     * Permits that a bucket has refilled since the debit do not come back. Keys with a capacity below 4, and
     * keys beyond the 10 000 hottest, are not prepaid.
     *
     * <p>A limiter with a {@link io.github.reactorratelimit.LeakyBucket}, a {@link
     * io.github.reactorratelimit.SlidingWindowLog}, a {@link io.github.reactorratelimit.ConcurrencyLimit} or
     * a composite with one of them is refused on this store. A key whose override is one of them is not
     * prepaid.
     *
     * @param leaseTime from 1 millisecond to 1 minute
     */
    public RedisStore leasing(Duration leaseTime) {
        Objects.requireNonNull(leaseTime, "leaseTime");
        if (leaseTime.compareTo(Duration.ofMillis(1)) < 0 || leaseTime.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException(
                    "leaseTime must be at least a millisecond and at most one minute, was " + leaseTime);
        }
        return with(options.withLeaseTime(leaseTime));
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        if (options.leaseTime() != null) {
            PrepaidPermits.require(settings.policy());
        }
        connections.open();
        if (options.selfTest()) {
            connections.testAside(options.prefix());
        }
        RedisKeys keys = new RedisKeys(options.prefix(), settings.name(), options.hashTag());
        FailureLog log = new FailureLog(settings, options, connections.isCluster());
        LimiterCommands commands = new LimiterCommands(connections.queues(), keys, settings, options, log);
        SignalChannel signals = new SignalChannel(connections, keys, settings);
        return settings.policy().needsRelease()
                ? new ConcurrencyState(settings, options, commands, signals)
                : new RedisLimiterState(settings, options, commands, signals);
    }

    @Override
    public String toString() {
        return "RedisStore '" + options.prefix() + "', deadline " + options.deadline() + ", when unavailable "
                + options.failureMode()
                + (options.leaseTime() == null
                        ? ""
                        : ", leasing permits: the bound of a policy in any W is the one it has in W + "
                                + options.leaseTime());
    }
}
