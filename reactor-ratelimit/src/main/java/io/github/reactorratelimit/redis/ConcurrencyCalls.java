package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LimiterSettings;
import java.util.List;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;

/**
 * The script calls about the leases of one limiter, through a breaker: what is answered comes on a thread of
 * the connection.
 */
final class ConcurrencyCalls implements AskPipe.Outlet<ConcurrencyAsk, ConcurrencyReply.Answer> {

    /** Not that of any algorithm. */
    static final List<String> PART_NAMES = List.of("f");

    private final LimiterSettings settings;
    private final ScriptCaller caller;
    private final RedisKeys keys;
    private final int maxAsks;
    private final Breaker breaker;
    private final AskPipes<ConcurrencyAsk, ConcurrencyReply.Answer> pipes = new AskPipes<>(this);

    ConcurrencyCalls(LimiterSettings settings, ScriptCaller caller, RedisKeys keys, StoreOptions options) {
        this.settings = settings;
        this.caller = caller;
        this.keys = keys;
        this.maxAsks = options.coalescing() ? ScriptArguments.MAX_ASKS : 1;
        this.breaker = new Breaker(new FailureLog(settings, options), RedisCalls.PROBE_EVERY.toNanos());
    }

    Breaker breaker() {
        return breaker;
    }

    /** Shares a call with what else is asked for the key. */
    Mono<ConcurrencyReply.Answer> ask(String key, ConcurrencyAsk ask) {
        return throughBreaker(pipes.ask(key, ask));
    }

    /** At most {@link ScriptArguments#MAX_ASKS} in a call of their own. */
    Mono<List<ConcurrencyReply.Answer>> askAll(String key, List<ConcurrencyAsk> asks) {
        return throughBreaker(Mono.defer(() -> call(key, asks)));
    }

    private <T> Mono<T> throughBreaker(Mono<T> call) {
        return Mono.defer(() -> breaker.lets(now())
                ? call
                : Mono.error(new RedisUnavailableException("Redis was unavailable a moment ago")));
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    @Override
    public int maxAsks() {
        return maxAsks;
    }

    @Override
    public Mono<List<ConcurrencyReply.Answer>> call(String key, List<ConcurrencyAsk> asks) {
        long max = ((ConcurrencyLimit) settings.policy()).max();
        var subject = new ConcurrencyAsk.Subject(max, keys.signalChannel(), Signals.Kind.FREED.message(key));
        return caller.call(
                        RedisScript.ofConcurrency(), keys.of(key, PART_NAMES), ConcurrencyAsk.arguments(subject, asks))
                .map(reply -> ConcurrencyReply.parse(reply, asks.size()).answers())
                .doOnError(error -> breaker.failed(error, now()))
                .doOnNext(answered -> breaker.succeeded());
    }
}
