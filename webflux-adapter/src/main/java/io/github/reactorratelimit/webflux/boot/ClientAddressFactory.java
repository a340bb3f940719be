package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.boot.RateLimitProperties.AddressSource;
import io.github.reactorratelimit.webflux.key.Cidr;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.InternalCallers;
import io.github.reactorratelimit.webflux.key.TrustedProxies;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;

/** Finds the address of a client, and the clients that are not limited. */
final class ClientAddressFactory {

    private static final String AT = "reactor-ratelimit.client-address";
    private static final String ALLOWED = "reactor-ratelimit.allow-list";

    private ClientAddressFactory() {}

    /** @param headersTaken whether something takes the headers away before they can be read: every client would be the proxy */
    static ClientAddress address(RateLimitProperties.Address properties, boolean headersTaken) {
        TrustedProxies proxies = proxies(properties);
        AddressSource standard = proxies == null ? AddressSource.PEER : AddressSource.X_FORWARDED_FOR;
        AddressSource source = properties.source() == null ? standard : properties.source();
        boolean reads = source == AddressSource.X_FORWARDED_FOR || source == AddressSource.FORWARDED;
        PropertyChecks.check(
                !reads || !headersTaken,
                "server.forward-headers-strategy",
                "is framework, or there is a ForwardedHeaderTransformer bean, which takes X-Forwarded-For and Forwarded away before"
                        + " reactor-ratelimit.client-address can read them: every client would count as the proxy. Set it to none");
        PropertyChecks.check(
                reads || proxies == null,
                AT + ".source",
                "believes no header, but there are trusted proxies: choose x-forwarded-for or forwarded");
        ClientAddress found = switch (source) {
            case PEER -> ClientAddress.ofPeer();
            case REPORTED_BY_SERVER -> ClientAddress.reportedByServer();
            case X_FORWARDED_FOR -> ClientAddress.fromXForwardedFor(needed(proxies));
            case FORWARDED -> ClientAddress.fromForwarded(needed(proxies));
        };
        ClientAddress byNetwork =
                PropertyChecks.of(AT + ".ipv4-prefix", () -> found.withIpv4Prefix(properties.ipv4Prefix()));
        return PropertyChecks.of(AT + ".ipv6-prefix", () -> byNetwork.withIpv6Prefix(properties.ipv6Prefix()));
    }

    private static TrustedProxies needed(@Nullable TrustedProxies proxies) {
        return PropertyChecks.required(
                proxies,
                AT + ".trusted-proxies",
                "is needed (or trusted-hops), such as 10.0.0.0/8: any client can write the header");
    }

    private static @Nullable TrustedProxies proxies(RateLimitProperties.Address properties) {
        List<Cidr> networks = PropertyChecks.orNone(properties.trustedProxies());
        Integer hops = properties.trustedHops();
        PropertyChecks.check(
                hops == null || networks.isEmpty(), AT + ".trusted-hops", "is instead of trusted-proxies: choose one");
        if (hops != null) {
            return PropertyChecks.of(AT + ".trusted-hops", () -> TrustedProxies.hops(hops));
        }
        return networks.isEmpty() ? null : TrustedProxies.in(networks);
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
