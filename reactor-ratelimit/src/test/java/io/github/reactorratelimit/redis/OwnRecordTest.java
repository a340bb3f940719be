package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** What processes tell each other of the policy of one key, and the call with which they ask. */
class OwnRecordTest {

    private static final RateLimitPolicy BUCKET = TokenBucket.perSecond(5);
    private static final RateLimitPolicy LOG = SlidingWindowLog.of(3, ofSeconds(1));
    private static final RateLimitPolicy BOTH = Policies.all(BUCKET, LOG);

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void isReadAsItWasWritten(boolean given) {
        String written = OwnRecord.format(4, given, BOTH, LOG, BUCKET);
        assertThat(OwnRecord.parse("17\n" + written)).isEqualTo(new OwnRecord(17, 4, given, BOTH, LOG, BUCKET));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void saysWhetherChangesAfterItWereLost(boolean given) {
        String written = OwnRecord.format(4, given, BOTH, LOG, BUCKET).replaceFirst("(given|restored)", "$1 lost");
        assertThat(OwnRecord.parse("17\n" + written)).isEqualTo(new OwnRecord(17, 4, given, BOTH, LOG, BUCKET, true));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "17", "17\n4\ntaken\na\nb\nc", "17\n4\ngiven\nno policy\nno policy\nno policy"})
    void whatIsNoneIsRefused(String text) {
        assertThatThrownBy(() -> OwnRecord.parse(text)).isInstanceOf(RedisCorruptStateException.class);
    }

    @Test
    void undoneItLeadsBackToThePolicyOfAll() {
        OwnRecord given = new OwnRecord(17, 4, true, LOG, BOTH, BUCKET);
        assertThat(given.undone()).isEqualTo(new OwnRecord(18, 4, false, BUCKET, LOG, BUCKET));
    }

    @Test
    void noMoreKeysThatWereGivenBackAreRememberedThanAreAllowed() {
        OwnPolicies own = new OwnPolicies(null, policy -> PolicyArguments.of(policy, 0), (ruling, key) -> Mono.never());
        OwnRecord given = new OwnRecord(17, 4, true, LOG, BUCKET, BUCKET);
        List<String> keys = IntStream.range(0, OwnPolicies.MOST_REMEMBERED + 100)
                .mapToObj(Integer::toString)
                .toList();
        Map<String, OwnRecord> all = keys.stream().collect(Collectors.toMap(key -> key, key -> given));
        own.learn(new OwnRegistry.Reading(OwnRegistry.Outcome.DONE, 0, 17, all));
        assertThat(keys).allMatch(key -> LOG.equals(own.given(key)));
        own.learn(new OwnRegistry.Reading(OwnRegistry.Outcome.DONE, 17, 18, Map.of()));
        assertThat(keys).noneMatch(key -> own.given(key) != null);
        assertThat(keys.stream().filter(key -> own.rule(key) != null)).hasSize(OwnPolicies.MOST_REMEMBERED);
    }

    @Test
    void sharedCallIsMadeOnceForAllWhoJoinAndAgainForWhoNeedsAFreshOne() {
        AtomicInteger made = new AtomicInteger();
        Sinks.Empty<Void> first = Sinks.empty();
        SharedCall call = new SharedCall(() -> made.incrementAndGet() == 1 ? first.asMono() : Mono.empty());
        AtomicInteger ended = new AtomicInteger();
        call.join().subscribe(nothing -> {}, failed -> {}, ended::incrementAndGet);
        call.join().subscribe(nothing -> {}, failed -> {}, ended::incrementAndGet);
        call.fresh().subscribe(nothing -> {}, failed -> {}, ended::incrementAndGet);
        assertThat(made).hasValue(1);
        assertThat(ended).hasValue(0);
        first.tryEmitError(new IllegalStateException("broken")).orThrow();
        assertThat(made).hasValue(2);
        assertThat(ended).hasValue(1);
        call.join().subscribe(nothing -> {}, failed -> {}, ended::incrementAndGet);
        assertThat(made).hasValue(3);
    }
}
