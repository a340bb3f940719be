package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.key.ClientAddress;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.ConfigurationPropertiesBinding;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.server.adapter.ForwardedHeaderTransformer;

/** How the address of a client is found, by {@code reactor-ratelimit.client-address}. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(RateLimitProperties.class)
class ClientAddressConfiguration {

    @Bean
    @ConditionalOnMissingBean
    @ConfigurationPropertiesBinding
    static PropertyTextConverter rateLimitPropertyTextConverter() {
        return new PropertyTextConverter();
    }

    @Bean
    @ConditionalOnMissingBean
    ClientAddress rateLimitClientAddress(RateLimitProperties properties, ListableBeanFactory beans) {
        boolean headersTaken = beans.getBeanNamesForType(ForwardedHeaderTransformer.class, true, false).length > 0;
        return ClientAddressFactory.address(properties.clientAddress(), headersTaken);
    }
}
