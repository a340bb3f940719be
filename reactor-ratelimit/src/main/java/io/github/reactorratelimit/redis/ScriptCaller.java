package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Sends the asks for one key in one script call and brings back the reply, or an error within the
 * deadline. A call that may have run is never sent again; one that did not run because the script
 * was not there is sent once more with its text.
 */
final class ScriptCaller {

    /**
     * Said by a server that cannot answer now, before Redis 7 with the place in the script in front; anything else it
     * says is our mistake or a broken set-up.
     */
    private static final Pattern UNAVAILABLE = Pattern.compile(
            "(?:ERR )?(?:@user_script: ?\\d+: ?)?-?"
                    + "(LOADING|READONLY|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MASTERDOWN|MISCONF|MOVED|ASK)\\b.*",
            Pattern.DOTALL);

    private final Carrier link;
    private final Scheduler scheduler;
    private final Deadlines deadlines;

    ScriptCaller(Carrier link, Scheduler scheduler, Duration deadline) {
        this.link = link;
        this.scheduler = scheduler;
        this.deadlines = new Deadlines(scheduler, deadline, link::check);
    }

    Mono<ScriptReply> call(Ruling ruling, String[] keys, List<Ask> asks) {
        long aboutMicros = TimeUnit.MILLISECONDS.toMicros(scheduler.now(TimeUnit.MILLISECONDS));
        return withinDeadline(attempt(ruling, keys, asks, aboutMicros)
                .onErrorResume(OutsideWindows.class, outside -> attempt(ruling, keys, asks, outside.serverMicros)));
    }

    /** Any script, whose reply is for the caller to check. */
    Mono<List<Object>> call(RedisScript script, String[] keys, String[] arguments) {
        return withinDeadline(run(script, keys, arguments));
    }

    /** Any script, with arguments that depend on about what time it is. */
    Mono<List<Object>> callAbout(RedisScript script, String[] keys, LongFunction<String[]> argumentsAbout) {
        return Mono.defer(() -> {
            long aboutMicros = TimeUnit.MILLISECONDS.toMicros(scheduler.now(TimeUnit.MILLISECONDS));
            return withinDeadline(run(script, keys, argumentsAbout.apply(aboutMicros))
                    .onErrorResume(
                            OutsideWindows.class,
                            outside -> run(script, keys, argumentsAbout.apply(outside.serverMicros))));
        });
    }

    /** The server's time: seconds, and microseconds of the second. */
    Mono<List<String>> time() {
        return withinDeadline(send(() -> link.commands().time()));
    }

    RedisClusterAsyncCommands<String, String> commands() {
        return link.commands();
    }

    /** How the connection writes keys. */
    RedisCodec<String, String> codec() {
        return link.codec();
    }

    long deadlineNanos() {
        return deadlines.nanos();
    }

    /** Ends a call that is not over within the deadline from now. */
    void watch(Deadlines.Watched call) {
        deadlines.begin(call);
    }

    /** Whether all calls that anybody began before are over, as far as this thread can have seen them. */
    boolean isQuiet() {
        return deadlines.isQuiet();
    }

    /** How many calls ever began. */
    long begun() {
        return deadlines.begun();
    }

    boolean sharesConnectionWith(ScriptCaller other) {
        return link.wire() == other.link.wire();
    }

    /** Whether the keys of a call must lie in one slot. */
    boolean isOnCluster() {
        return link.isOnCluster();
    }

    private <T> Mono<T> withinDeadline(Mono<T> call) {
        return deadlines.within(call);
    }

    private Mono<ScriptReply> attempt(Ruling ruling, String[] keys, List<Ask> asks, long aboutMicros) {
        return run(ruling.script(), keys, ScriptArguments.of(ruling, asks, aboutMicros))
                .map(reply -> ScriptReply.parse(
                        reply, asks, ruling.policy().partNames().size()));
    }

    private Mono<List<Object>> run(RedisScript script, String[] keys, String[] arguments) {
        return ScriptCaller.<List<Object>>send(
                        () -> link.commands().evalsha(script.sha1(), ScriptOutputType.MULTI, keys, arguments))
                .onErrorResume(
                        RedisNoScriptException.class,
                        unknown -> send(
                                () -> link.commands().eval(script.text(), ScriptOutputType.MULTI, keys, arguments)))
                .onErrorMap(ScriptCaller::classify);
    }

    /** Cancelling drops a command that was not written yet, so that a reconnect does not send it late. */
    private static <T> Mono<T> send(Supplier<RedisFuture<T>> command) {
        return MonoOnce.ofStage(command);
    }

    /** The server's time lies outside the calendar windows that were sent: nothing ran. */
    private static final class OutsideWindows extends RuntimeException {

        private static final long serialVersionUID = 1L;
        private final long serverMicros;

        OutsideWindows(long serverMicros) {
            super(null, null, false, false);
            this.serverMicros = serverMicros;
        }
    }

    static Throwable classify(Throwable error) {
        if (!(error instanceof RedisCommandExecutionException)) {
            // An Error is a broken class path or worse: no outage, so no failure mode may hide it.
            return error instanceof RedisReplyException || error instanceof Error
                    ? error
                    : RedisUnavailableException.unanswered("Redis cannot be reached", error);
        }
        String said = String.valueOf(error.getMessage());
        OptionalLong serverMicros = ScriptReply.outsideWindows(said);
        if (serverMicros.isPresent()) {
            return new OutsideWindows(serverMicros.getAsLong());
        }
        OptionalLong newerEpoch = ScriptReply.newerEpoch(said);
        if (newerEpoch.isPresent()) {
            return new NewerEpochException(newerEpoch.getAsLong());
        }
        if (ScriptReply.isCorrupt(said)) {
            return new RedisCorruptStateException(said);
        }
        return UNAVAILABLE.matcher(said).matches()
                ? new RedisUnavailableException("Redis says " + said, error)
                : new RedisErrorReplyException(Refusal.withoutArguments(said));
    }
}
