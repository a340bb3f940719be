package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.boot.RateLimitProperties.AddressSource;
import io.github.reactorratelimit.webflux.key.Cidr;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.InternalCallers;
import io.github.reactorratelimit.webflux.key.TrustedProxies;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.springframework.web.server.ServerWebExchange;

/** Finds the address of a client, and the clients that are not limited. */
final class ClientAddressFactory {

    private static final String AT = "reactor-ratelimit.client-address";
    private static final String ALLOWED = "reactor-ratelimit.allow-list";

    private ClientAddressFactory() {}

    static ClientAddress address(RateLimitProperties.Address properties) {
        ClientAddress found = found(properties);
        ClientAddress byNetwork =
                PropertyChecks.of(AT + ".ipv4-prefix", () -> found.withIpv4Prefix(properties.ipv4Prefix()));
        return PropertyChecks.of(AT + ".ipv6-prefix", () -> byNetwork.withIpv6Prefix(properties.ipv6Prefix()));
    }

    /** A transformer removes the headers before they can be read: every client would be the proxy. */
    static void requireHeadersLeft(RateLimitProperties.Address properties) {
        PropertyChecks.check(
                !reads(source(properties, proxies(properties))),
                "server.forward-headers-strategy",
                "is framework, or there is a ForwardedHeaderTransformer bean, which takes X-Forwarded-For and Forwarded away before"
                        + " reactor-ratelimit.client-address can read them: every client would count as the proxy. Set it to none");
    }

    private static AddressSource source(RateLimitProperties.Address properties, Optional<TrustedProxies> proxies) {
        return properties.source() != null
                ? properties.source()
                : proxies.isPresent() ? AddressSource.X_FORWARDED_FOR : AddressSource.PEER;
    }

    private static boolean reads(AddressSource source) {
        return source == AddressSource.X_FORWARDED_FOR || source == AddressSource.FORWARDED;
    }

    private static ClientAddress found(RateLimitProperties.Address properties) {
        Optional<TrustedProxies> proxies = proxies(properties);
        AddressSource source = source(properties, proxies);
        boolean reads = reads(source);
        PropertyChecks.check(
                reads || proxies.isEmpty(),
                AT + ".source",
                "believes no header, but there are trusted proxies: choose x-forwarded-for or forwarded");
        PropertyChecks.check(
                !reads || proxies.isPresent(),
                AT + ".trusted-proxies",
                "is needed (or trusted-hops), such as 10.0.0.0/8: any client can write the header");
        return switch (source) {
            case PEER -> ClientAddress.ofPeer();
            case REPORTED_BY_SERVER -> ClientAddress.reportedByServer();
            case X_FORWARDED_FOR -> ClientAddress.fromXForwardedFor(proxies.orElseThrow());
            case FORWARDED -> ClientAddress.fromForwarded(proxies.orElseThrow());
        };
    }

    private static Optional<TrustedProxies> proxies(RateLimitProperties.Address properties) {
        List<Cidr> networks = PropertyChecks.orNone(properties.trustedProxies());
        Integer hops = properties.trustedHops();
        if (hops == null) {
            return networks.isEmpty() ? Optional.empty() : Optional.of(TrustedProxies.in(networks));
        }
        PropertyChecks.check(networks.isEmpty(), AT + ".trusted-hops", "is instead of trusted-proxies: choose one");
        return Optional.of(PropertyChecks.of(AT + ".trusted-hops", () -> TrustedProxies.hops(hops)));
    }

    /** The clients that are not limited; empty if all are. */
    static Optional<Predicate<ServerWebExchange>> exempt(
            RateLimitProperties.AllowList properties, ClientAddress address) {
        List<Cidr> networks = PropertyChecks.orNone(properties.networks());
        String[] secrets = PropertyChecks.orNone(properties.secrets()).toArray(String[]::new);
        String header = properties.secretHeader();
        PropertyChecks.check(
                header == null || secrets.length > 0, ALLOWED + ".secrets", "are needed: there is a secret-header");
        PropertyChecks.check(
                header != null || secrets.length == 0, ALLOWED + ".secret-header", "is needed: there are secrets");
        Optional<Predicate<ServerWebExchange>> near =
                networks.isEmpty() ? Optional.empty() : Optional.of(InternalCallers.from(address, networks));
        if (header == null) {
            return near;
        }
        Predicate<ServerWebExchange> knowing =
                PropertyChecks.of(ALLOWED + ".secrets", () -> InternalCallers.withSecret(header, secrets));
        return Optional.of(near.map(from -> from.or(knowing)).orElse(knowing));
    }
}
