package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.ClassUtils;
import reactor.util.Logger;
import reactor.util.Loggers;

/** Says at the start where limits live: nobody should think that they are shared when they are not. */
final class StoreLocationLogger {

    private static final String FACTORY = "org.springframework.data.redis.connection.RedisConnectionFactory";

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private StoreLocationLogger() {}

    static void log(RateLimits limits, RateLimitProperties properties, boolean hasRedis, ListableBeanFactory beans) {
        if (properties.limits().isEmpty()) {
            return;
        }
        LOG.info(
                "Rate limits in Redis: {}; in this process: {}",
                limits.namesIn(StoreKind.REDIS),
                limits.namesIn(StoreKind.LOCAL));
        if (!hasRedis && properties.store() == null && hasConnectionFactory(beans)) {
            LOG.warn(
                    "Rate limits are not shared through the application's Redis, because Lettuce is not on the class path:"
                            + " add io.lettuce:lettuce-core and set reactor-ratelimit.redis.uri, or reactor-ratelimit.store: local if each instance is to"
                            + " have its own");
        }
    }

    private static boolean hasConnectionFactory(ListableBeanFactory beans) {
        ClassLoader loader = StoreLocationLogger.class.getClassLoader();
        return ClassUtils.isPresent(FACTORY, loader)
                && beans.getBeanNamesForType(ClassUtils.resolveClassName(FACTORY, loader), true, false).length > 0;
    }
}
