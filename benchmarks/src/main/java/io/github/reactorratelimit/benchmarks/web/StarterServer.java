package io.github.reactorratelimit.benchmarks.web;

import com.giffing.bucket4j.spring.boot.starter.config.cache.AsyncCacheResolver;
import com.giffing.bucket4j.spring.boot.starter.context.RateLimitResult;
import com.giffing.bucket4j.spring.boot.starter.context.RateLimitResultWrapper;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.local.LocalBucketBuilder;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The Bucket4j starter's WebFlux filter, configured by its own properties. Its buckets are in a
 * map without a bound, its cheapest store.
 */
@Configuration(proxyBeanMethods = false)
class StarterServer {

    static String[] properties(long capacity, String unit) {
        return new String[] {
            "bucket4j.filters[0].cache-name=buckets",
            "bucket4j.filters[0].filter-method=webflux",
            "bucket4j.filters[0].url=.*",
            "bucket4j.filters[0].rate-limits[0].cache-key=getRemoteAddress().getAddress().getHostAddress()",
            "bucket4j.filters[0].rate-limits[0].bandwidths[0].capacity=" + capacity,
            "bucket4j.filters[0].rate-limits[0].bandwidths[0].time=1",
            "bucket4j.filters[0].rate-limits[0].bandwidths[0].unit=" + unit
        };
    }

    @Bean
    AsyncCacheResolver buckets() {
        Map<String, Bucket> buckets = new ConcurrentHashMap<>();
        return cacheName -> (key, permits, estimate, configuration, listener, version, strategy) -> {
            Bucket bucket = buckets.computeIfAbsent(key, unknown -> bucket(configuration));
            ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(permits);
            return new RateLimitResultWrapper(CompletableFuture.completedFuture(RateLimitResult.builder()
                    .consumed(probe.isConsumed())
                    .remainingTokens(probe.getRemainingTokens())
                    .nanosToWaitForRefill(probe.getNanosToWaitForRefill())
                    .nanosToWaitForReset(probe.getNanosToWaitForReset())
                    .build()));
        };
    }

    private static Bucket bucket(BucketConfiguration configuration) {
        LocalBucketBuilder builder = Bucket.builder();
        Arrays.stream(configuration.getBandwidths()).forEach(builder::addLimit);
        return builder.build();
    }
}
