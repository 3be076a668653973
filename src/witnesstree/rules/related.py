"""Rings of related English words: who asks about the login also means the note that says session, token or JWT.

Written by hand, for everyday life and for software. A word of a ring stands a little for each other one: weaker than the word
itself, and never as support of an answer. What is a synonym anywhere but means something else as often (bank, bat, spring)
stays out. A word may stand in several rings.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from witnesstree.rules.stem import stem

_SOFTWARE: Final = """
login logon signin auth authentication authenticate session jwt token oauth sso password credential logout mfa
permission role access authorization rbac acl admin privilege
password secret credential passphrase vault passkey token
encrypt encryption cipher tls ssl aes certificate https crypto
database db postgres postgresql mysql sqlite mariadb mongodb sql dynamodb oracle
schema migration table column index row
cache redis memcached ttl eviction cdn
queue job worker celery rabbitmq kafka sqs background cron task scheduler
deploy deployment release ship rollout production rollback
pipeline ci cd jenkins build github gitlab integration actions
test tests pytest unittest jest coverage qa fixture mock
lint linter format formatter ruff black prettier eslint style indentation
package dependency npm pnpm yarn pip poetry library lockfile
repository repo git monorepo github gitlab branch commit
review reviewer approval pr pull merge
error exception bug crash failure fault traceback sentry
incident outage oncall pager pagerduty alert downtime postmortem
monitor monitoring metric dashboard grafana prometheus datadog observability telemetry
log logs logging loki kibana splunk trace audit
server host machine vm cluster node instance
cloud aws azure gcp infrastructure terraform kubernetes hosting
container docker kubernetes k8s pod helm image
frontend ui interface react vue angular svelte browser css
backend api server service endpoint django flask fastapi express
api endpoint rest graphql grpc route webhook
mobile app ios android kotlin swift phone
payment pay billing bill invoice stripe paypal checkout charge refund subscription
email mail newsletter smtp postmark sendgrid mailchimp inbox
search query elasticsearch opensearch solr index
file upload storage s3 bucket blob attachment
image picture photo photograph photography screenshot thumbnail
backup snapshot dump restore recovery
language programming python java javascript typescript rust golang kotlin
translate translation i18n localization locale language
experiment toggle flag rollout ab
account user customer profile member
delete remove purge erase drop
timeout latency slow speed performance throughput
limit quota throttle rate maximum
network vpn firewall proxy dns router
internet wifi broadband router online network
computer laptop pc macbook desktop notebook
ticket issue task jira backlog
meeting standup call sync appointment
deadline due schedule milestone
documentation docs wiki readme manual guide
editor ide vscode vim emacs
analytics tracking statistics bigquery report
model ai llm gpt embedding training
"""
_LIFE: Final = """
doctor physician gp clinic dr hospital surgeon medical
nurse hospital ward clinic patient
dentist tooth dental crown braces
ill illness sick sickness disease fever flu unwell
medicine medication drug pill prescription pharmacy tablet
allergy allergic intolerance avoid peanut gluten lactose
diet vegetarian vegan meat food eat
food meal dish dinner lunch breakfast cuisine cook
restaurant cafe diner bistro pub
coffee tea espresso drink beverage
wine beer alcohol drink whisky cocktail
recipe cook bake kitchen ingredient
car vehicle automobile drive volvo bmw toyota tesla ford volkswagen audi
bike bicycle cycle cycling
train railway station rail subway metro
plane flight fly airport airline
home house flat apartment residence live address
city town village place
move relocate relocation moved
country nation homeland abroad
rent lease landlord tenant mortgage
job work employ employed employer occupation career profession company
boss manager supervisor chief
colleague coworker teammate
salary wage income earn pay earning
money cash cost price budget expense afford
loan debt owe mortgage credit
tax vat revenue duty
buy purchase shop shopping order
expensive cheap cost price
school class teacher pupil student
university college degree study studied graduate bachelor master campus
exam test grade mark
teacher professor tutor instructor
child kid son daughter baby toddler
parent mother father mum mom dad mama papa
brother sister sibling twin
grandmother grandma granny grandfather grandpa
husband wife spouse married marry marriage partner wedding
boyfriend girlfriend partner dating
friend buddy pal friendship
family relative cousin aunt uncle
dog puppy retriever poodle terrier pet
cat kitten pet
pet animal dog cat hamster rabbit parrot
holiday vacation trip travel journey tour
hotel hostel airbnb accommodation
beach sea seaside coast ocean
mountain hike hiking climb trail
film movie cinema series
book novel read author
music song band concert orchestra instrument
instrument guitar piano violin cello drum flute
sport exercise gym workout training fitness
run running jog jogging marathon
football soccer basketball tennis swim
game play gaming chess puzzle
paint painting art draw drawing artist
hobby pastime leisure
garden plant flower tree vegetable
clothes clothing shirt dress jacket shoe
gift present birthday
party celebration celebrate birthday anniversary
age old born birthday birth
name called nickname
phone mobile telephone cellphone number
afraid scared fear phobia
happy glad joy delighted
sad unhappy depressed down
angry upset annoyed mad
tired exhausted sleepy fatigue
favourite favorite prefer love like best
dislike hate detest
church religion faith pray mosque temple
law lawyer attorney legal court
police crime theft stolen
accident crash injury hurt injured
weather rain snow sunny storm
"""


@cache
def _related() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for ring in (*_SOFTWARE.splitlines(), *_LIFE.splitlines()):
        terms = dict.fromkeys(map(stem, ring.split()))
        for term in terms:
            found.setdefault(term, {}).update(terms)
    return {term: tuple(other for other in others if other != term) for term, others in found.items()}


def related_to(term: str) -> tuple[str, ...]:
    """Return the terms that stand in a ring with a term; none for most."""
    return _related().get(term, ())
