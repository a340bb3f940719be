package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.async.RedisScriptingAsyncCommands;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.scheduler.Scheduler;

/**
 * Sends the asks for one key in one script call and brings back the reply, or an error within the
 * deadline. A call that may have run is never sent again; one that did not run because the script
 * was not there is sent once more with its text.
 */
final class ScriptCaller {

    /** Said by a server that cannot answer now; anything else it says is our mistake or a broken set-up. */
    private static final Pattern UNAVAILABLE = Pattern.compile(
            "(LOADING|READONLY|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MASTERDOWN|MOVED|ASK)\\b.*", Pattern.DOTALL);

    private final RedisScriptingAsyncCommands<String, String> commands;
    private final Scheduler scheduler;
    private final Duration deadline;

    ScriptCaller(RedisScriptingAsyncCommands<String, String> commands, Scheduler scheduler, Duration deadline) {
        this.commands = commands;
        this.scheduler = scheduler;
        this.deadline = deadline;
    }

    Mono<ScriptReply> call(PolicyArguments policy, String[] keys, List<Ask> asks) {
        long aboutMicros = TimeUnit.MILLISECONDS.toMicros(scheduler.now(TimeUnit.MILLISECONDS));
        return attempt(policy, keys, asks, aboutMicros)
                .onErrorResume(OutsideWindows.class, outside -> attempt(policy, keys, asks, outside.serverMicros))
                .timeout(deadline, Mono.error(this::tooLate), scheduler);
    }

    private RedisUnavailableException tooLate() {
        return new RedisUnavailableException("no answer from Redis within " + deadline);
    }

    private Mono<ScriptReply> attempt(PolicyArguments policy, String[] keys, List<Ask> asks, long aboutMicros) {
        String[] arguments = ScriptArguments.of(policy, asks, aboutMicros);
        RedisScript script = policy.script();
        return this.<List<Object>>send(() -> commands.evalsha(script.sha1(), ScriptOutputType.MULTI, keys, arguments))
                .onErrorResume(
                        RedisNoScriptException.class,
                        unknown -> send(() -> commands.eval(script.text(), ScriptOutputType.MULTI, keys, arguments)))
                .onErrorMap(ScriptCaller::classify)
                .map(reply -> ScriptReply.parse(reply, asks, policy.partNames().size()));
    }

    private interface Command<T> {
        RedisFuture<T> send();
    }

    /** Cancelling drops a command that was not written yet, so that a reconnect does not send it late. */
    private <T> Mono<T> send(Command<T> command) {
        return Mono.create(sink -> {
            RedisFuture<T> future = command.send();
            sink.onCancel(() -> future.cancel(true));
            future.whenComplete((reply, error) -> settle(sink, reply, error));
        });
    }

    private static <T> void settle(MonoSink<T> sink, T reply, Throwable error) {
        if (error == null) {
            sink.success(reply);
        } else {
            sink.error(
                    error instanceof CompletionException wrapped && wrapped.getCause() != null
                            ? wrapped.getCause()
                            : error);
        }
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

    private static Throwable classify(Throwable error) {
        if (!(error instanceof RedisCommandExecutionException)) {
            return error instanceof RedisReplyException
                    ? error
                    : new RedisUnavailableException("Redis cannot be reached", error);
        }
        String said = String.valueOf(error.getMessage());
        OptionalLong serverMicros = ScriptReply.outsideWindows(said);
        if (serverMicros.isPresent()) {
            return new OutsideWindows(serverMicros.getAsLong());
        }
        if (ScriptReply.isCorrupt(said)) {
            return new RedisCorruptStateException(said);
        }
        return UNAVAILABLE.matcher(said).matches() ? new RedisUnavailableException("Redis says " + said, error) : error;
    }
}
