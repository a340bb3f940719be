package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
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
 * State in Redis, shared by all processes that use the same prefix and limiter name. Works on any Lettuce
 * connection: standalone, Sentinel or replicas (read from the master only), Cluster. A connection that is handed
 * in stays the caller's, who closes it; {@link #connect(String)} makes one. Needs Lettuce 7.0 or later: with an older one
 * no store is made.
 *
 * <pre>{@code
 * RateLimitStore store = RedisStore.of(redisClient.connect())
 *         .whenUnavailable(FailureMode.closed());
 * RateLimiter limiter = RateLimiter.builder(policy).name("orders").store(store).build();
 * }</pre>
 *
 * <p>A decision is one script call at the server's own time; asks for one key that are under way
 * together share a call. Limiters with the same name share their keys, so give each its own.
 */
public final class RedisStore implements RateLimitStore {

    /** How long a call may take unless {@link #withDeadline(Duration)} says otherwise. */
    public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(50);

    /** How long leased permits may be spent unless {@link #leasing(Duration)} says otherwise. */
    public static final Duration DEFAULT_LEASE_TIME = Duration.ofSeconds(1);

    private final Carrier link;
    private final StoreOptions options;

    private RedisStore(Carrier link, StoreOptions options) {
        this.link = link;
        this.options = options;
    }

    /** On a standalone server, or the master behind Sentinel; closed while Redis is unavailable. */
    public static RedisStore of(StatefulRedisConnection<String, String> connection) {
        Objects.requireNonNull(connection, "connection");
        ConnectionAdvice.requireVersion();
        ConnectionAdvice.log(connection);
        return of(RedisLink.of(connection));
    }

    /** On a Cluster; closed while Redis is unavailable. */
    public static RedisStore of(StatefulRedisClusterConnection<String, String> connection) {
        Objects.requireNonNull(connection, "connection");
        ConnectionAdvice.requireVersion();
        ConnectionAdvice.log(connection);
        return of(RedisLink.of(connection));
    }

    /**
     * Connects to a standalone server ({@code redis://user:password@host:6379}, {@code rediss://} for TLS) or to the master
     * that Sentinels name ({@code redis-sentinel://host:26379,host:26379#master}), with options that suit a limiter and
     * with {@linkplain #withSignals signals}. Connects anew on each subscription; gives up after 5 seconds, or
     * after the {@code ?timeout=} of the URI, with a {@link RedisUnavailableException}. Whoever connects {@linkplain #close()
     * closes}.
     *
     * @throws IllegalArgumentException if the URI is none of these
     */
    public static Mono<RedisStore> connect(String uri) {
        return connect(RedisConnector.parse(uri));
    }

    /** {@link #connect(String)} with a URI in Lettuce's form, whose timeout is taken as it is: a minute unless set. */
    public static Mono<RedisStore> connect(RedisURI uri) {
        return RedisConnector.connect(Objects.requireNonNull(uri, "uri")).map(RedisStore::of);
    }

    /** {@link #connect(String)} to a Cluster, of which one node or more are named; the others are found through them. */
    public static Mono<RedisStore> connectCluster(String... uris) {
        return connectCluster(Stream.of(uris).map(RedisConnector::parse).toList());
    }

    /** {@link #connectCluster(String...)} with URIs in Lettuce's form. */
    public static Mono<RedisStore> connectCluster(List<RedisURI> uris) {
        return RedisConnector.connectCluster(List.copyOf(uris)).map(RedisStore::of);
    }

    /**
     * {@link #connect(String)} without waiting for it: the store is there at once, and connects aside when its first limiter is
     * built, again and again until a server answers. Limiters answer as {@link #whenUnavailable} says meanwhile, the self-test says
     * why there is no connection, and the log too.
     *
     * @throws IllegalArgumentException if the URI cannot be one
     */
    public static RedisStore connectAside(String uri) {
        return of(new LateLink(RedisConnector.connect(RedisConnector.parse(uri)), false));
    }

    /** {@link #connectAside(String)} to a Cluster, of which one node or more are named. */
    public static RedisStore connectClusterAside(String... uris) {
        return of(new LateLink(
                RedisConnector.connectCluster(
                        Stream.of(uris).map(RedisConnector::parse).toList()),
                true));
    }

    /**
     * {@link #connectAside(String)} to where a client of the user's connects to, with two connections of our own, one of them
     * for {@linkplain #withSignals signals}. {@link #close()} closes these, and not the client, which has to be shut down later.
     */
    public static RedisStore connectAside(RedisClient client) {
        return of(new LateLink(RedisConnector.connect(Objects.requireNonNull(client, "client")), false));
    }

    /** {@link #connectAside(RedisClient)} to a Cluster. */
    public static RedisStore connectAside(RedisClusterClient client) {
        return of(new LateLink(RedisConnector.connect(Objects.requireNonNull(client, "client")), true));
    }

    /**
     * Whether limiters can work there: the server's version, role and {@code maxmemory-policy}, the permissions of the user,
     * on a Cluster of every master. Tries the commands that the scripts use on keys of its own. Never an error: what goes
     * wrong is a finding. Each subscription tests anew.
     *
     * <p>It also runs when the first limiter of a store is built, aside, and says in the log what it finds.
     */
    public Mono<SelfTest> selfTest() {
        return link.selfTest(options.prefix());
    }

    /** The same store without the self-test when its first limiter is built. */
    public RedisStore withoutSelfTest() {
        return new RedisStore(link.withoutSelfTest(), options);
    }

    /**
     * Closes the connections that {@link #connect} or {@link #connectAside} made, for this store and all made from it: close their limiters first.
     * Leaves connections alone that were handed in.
     */
    public Mono<Void> close() {
        return link.close();
    }

    private static RedisStore of(Carrier link) {
        return new RedisStore(link, StoreOptions.DEFAULT);
    }

    private RedisStore with(StoreOptions options) {
        return new RedisStore(link, options);
    }

    /**
     * The same store, whose limiters tell those of other processes what they gave back, reset or paused, so that who waits
     * there notices within a message's time and not when the last denial said. The connection must be to the same server or
     * Cluster and is for listening only; it may carry other subscriptions, and stays the caller's, who closes it after the
     * limiters.
     *
     * @throws IllegalStateException if the store {@linkplain #connectAside(String) connects aside}: it has signals already
     */
    public RedisStore withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        return new RedisStore(link.withSignals(Objects.requireNonNull(pubSub, "pubSub")), options);
    }

    /** The same store with keys that begin with {@code prefix}; {@code "ratelimit"} unless given. */
    public RedisStore withPrefix(String prefix) {
        if (Objects.requireNonNull(prefix, "prefix").isBlank() || prefix.contains("{") || prefix.contains("}")) {
            throw new IllegalArgumentException("prefix must not be blank or hold braces, was '" + prefix + "'");
        }
        if (RedisKeys.hasLoneSurrogate(prefix)) {
            throw new IllegalArgumentException("prefix must be valid Unicode: it holds a surrogate without its pair");
        }
        return with(options.toBuilder().prefix(prefix).build());
    }

    /**
     * The same store, whose keys all lie in the slot of a Cluster that {@code tag} chooses, so that {@link
     * RateLimiter#acquireAll} asks several limiters in one atomic step. All their keys are then on one node: give
     * each group of limits that belong together a tag of its own. On a standalone server they are asked in one step anyway.
     */
    public RedisStore withHashTag(String tag) {
        if (Objects.requireNonNull(tag, "tag").isBlank()) {
            throw new IllegalArgumentException("tag must not be blank");
        }
        return with(options.toBuilder().hashTag(tag).build());
    }

    /**
     * The same store, whose limiters follow a change of their policy that is rolled out process by process. Raise the epoch by
     * one with every change, also with a roll-back. Of two processes the one with the higher epoch rules: the other
     * follows its policy from the first call for a key that the newer one has touched, or from its signal, and
     * within half a minute in any case. What a key spent under the policy before is kept, capped at the new
     * capacity; whoever has a slot is given another. What was taken before the change cannot be refunded after it.
     *
     * <p>Concerns the policy that a limiter is built with, not those that a resolver gives keys, and no {@link ConcurrencyLimit}, where the
     * latest call rules. See {@link RateLimiter#changePolicy} for a change without a rollout.
     *
     * @param epoch 0 for none, as it is unless given
     */
    public RedisStore withPolicyEpoch(long epoch) {
        if (epoch < 0) {
            throw new IllegalArgumentException("epoch must not be negative, was " + epoch);
        }
        Exact.check("epoch", epoch);
        return with(options.toBuilder().policyEpoch(epoch).build());
    }

    /** The same store, whose calls are given up after {@code deadline}. They are never sent again. */
    public RedisStore withDeadline(Duration deadline) {
        Objects.requireNonNull(deadline, "deadline");
        if (deadline.isZero() || deadline.isNegative() || deadline.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException("deadline must be positive and at most one minute, was " + deadline);
        }
        return with(options.toBuilder().deadline(deadline).build());
    }

    /** The same store with another answer while Redis is unavailable. */
    public RedisStore whenUnavailable(FailureMode mode) {
        return with(options.toBuilder()
                .failureMode(Objects.requireNonNull(mode, "mode"))
                .build());
    }

    /** The same store with a call for every ask. */
    public RedisStore withoutCoalescing() {
        return with(options.toBuilder().coalescing(false).build());
    }

    /**
     * The same store, whose {@code tryAcquire} under a token bucket or GCRA is answered on the thread of the connection that reads the
     * answer, where Redis had to be asked: that saves two changes of thread for each round trip. Only for subscribers that never block and do
     * little: while one of them runs, nothing that comes over the connection is read, for anybody, and calls miss their deadlines. Otherwise
     * answers come on the limiter's scheduler for callbacks, and a slow subscriber delays only itself.
     *
     * <p>What a subscriber asks there is sent when the calls under way are answered, or with the next ask of another thread. Has no
     * effect {@linkplain #withoutCoalescing() without coalescing}, nor for what else is asked.
     */
    public RedisStore answeringOnConnection() {
        return with(options.toBuilder().onConnection(true).build());
    }

    /**
     * The same store with a call for every ask that is denied. Otherwise a denial answers asks of at least its
     * cost until Redis would allow what was denied, and at most for a second: what other processes give back may
     * be noticed that much later. The retry-after of a dearer ask is then a lower bound.
     */
    public RedisStore withoutDenialCache() {
        return with(options.toBuilder().denialCache(false).build());
    }

    /** {@link #leasing(Duration)} with {@link #DEFAULT_LEASE_TIME}. */
    public RedisStore leasing() {
        return leasing(DEFAULT_LEASE_TIME);
    }

    /**
     * The same store with leases, for keys in high demand: permits are debited in Redis a batch at a time, and
     * spent in this process without a call. The size of a batch follows the recent demand. Nothing is spent that
     * was not debited, and a permit is spent within {@code leaseTime} of its debit or given back: so what is
     * spent in a time W is at most what the policy allows in W + {@code leaseTime}.
     *
     * <p>A process holds at most a quarter of the capacity of a key, for at most {@code leaseTime}: meanwhile others
     * may be denied. A process that dies takes that much with it, until the key has recovered from it. What a bucket
     * has refilled since a debit does not come back. Keys with a capacity below 4, and those beyond 10 000 in demand
     * at a time, are not leased.
     *
     * <p>Building a limiter with a {@link io.github.reactorratelimit.LeakyBucket}, a {@link
     * io.github.reactorratelimit.SlidingWindowLog}, a {@link io.github.reactorratelimit.ConcurrencyLimit} or a
     * composite with one of them on this store is refused; where a policy per key is one, the key is not leased.
     *
     * @param leaseTime from 1 millisecond to 1 minute
     */
    public RedisStore leasing(Duration leaseTime) {
        Objects.requireNonNull(leaseTime, "leaseTime");
        if (leaseTime.compareTo(Duration.ofMillis(1)) < 0 || leaseTime.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException(
                    "leaseTime must be at least a millisecond and at most one minute, was " + leaseTime);
        }
        return with(options.toBuilder().leaseTime(leaseTime).build());
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        if (options.leaseTime() != null) {
            Leasable.require(settings.policy());
        }
        link.opened(options.prefix());
        ScriptCaller caller = new ScriptCaller(link, settings.scheduler(), options.deadline());
        RedisKeys keys = new RedisKeys(options.prefix(), settings.name(), options.hashTag());
        if (settings.policy().needsRelease()) {
            ConcurrencyCalls calls = new ConcurrencyCalls(settings, caller, keys, options);
            return ConcurrencyState.open(settings, options, calls, link.signals(keys));
        }
        RedisCalls calls = new RedisCalls(settings, caller, keys, options);
        LocalSpending spending = new LocalSpending(settings, calls, LocalSpending.MAX_KEYS);
        Unavailability unavailability = new Unavailability(settings, options.failureMode(), calls.breaker(), spending);
        return new RedisState(settings, calls, unavailability, link.signals(keys), options);
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
