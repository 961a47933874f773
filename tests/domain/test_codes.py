"""The error codes, against a transcript of the published list."""

from mockserver.domain.codes import MESSAGES, Code

# Published facts, 3.1.
PUBLISHED = """
0 NoError, 1 UnknownError, 2 InvalidAmount, 3 InvalidAuthoriseDetails, 4 InvalidCaptureDetails, 5 InvalidCardNumber,
6 InvalidCcv, 7 InvalidCountry, 8 InvalidCountryForTransfer, 9 InvalidExpiryDate, 10 InvalidPaymentDetails,
11 InvalidPaypalAccount, 12 InvalidRefundDetails, 13 InvalidVoidDetails, 14 ExpiredCard, 15 InsufficientFunds,
16 LocationNotSupported, 17 PaypalBillingAgreementCancelled, 18 ThreeDSecureFailed, 19 AccountEmailUnconfirmed,
20 AccountError, 21 AccountIsLockedOrClosed, 22 AccountNotAuthorised, 23 AccountRestricted,
24 AmountExceedsMaxAmountForPayToAgreement, 25 AmountTooLarge, 26 AuthenticationAuthorizationError,
27 BillingPostalCodeNotSupported, 28 CurrencyComplianceIssuesWithTransactions, 29 CurrencyNotSupported, 30 Duplicate,
31 DuplicateTransaction, 32 FeatureUnavailable, 33 PayToAgreementIsNotActive, 34 ProviderServiceError,
35 RateLimitingApplied, 36 ReceiverAccountLocked, 37 RetryLater, 38 SenderAccountIssue, 39 InvalidProviderId,
40 InvalidAuthentication, 41 InvalidEnvironment, 42 TokeniseCardError, 43 TransactionError, 44 NotSupportCharge,
45 UnableToRefund, 46 UnableToCharge, 47 UnableToCapture, 48 UnableToVoid, 49 UnableToAddCustomer,
50 NoTransactionFound, 51 InvalidOrExpiredToken, 52 InvalidCustomerId, 53 InvalidCharge, 54 InvalidChargeStatus,
55 InvalidCardLength, 56 InvalidPaymentMethodId, 57 InvalidPaymentMethod, 58 InvalidPaymentType,
59 InvalidThreeDSServerTransID, 60 InvalidTransferAmount, 61 InvalidReferenceId, 62 InvalidVaultId,
63 NoCardProvidersConfigured, 64 CustomerHasNoDefaultPaymentMethodId, 65 NoProviderFound,
66 NoVaultIdAssociatedWithThisPaymentMethod, 67 NoTransferInformationProvided, 68 TransferLargerThanOriginalCharge,
69 DuplicateGroupReference, 70 DuplicateTransferReference, 71 FeatureAuthoriseAndCaptureIsNotSupported,
72 InvalidCustomerIdRemoved, 73 InvalidPaymentMethodIdRemoved, 74 InvalidAmountMustBePositive,
75 FeatureVerifyPendingIsNotSupported, 76 InvalidAmountMaximumAvailableRefund, 77 InvalidCaptureAmountPassed,
78 FeaturePartialCaptureIsNotSupportedCaptureAmount, 79 AmountOutsideRangeForMerchant, 80 GatewayTimeout,
81 InvalidPaymentInformation, 82 CannotProvideBothExpireDateAndExpireSeconds, 83 InvalidExpireDateOrExpireSeconds,
84 InvalidChargeId, 85 CannotProvideBothVaultExpireDateAndVaultExpireSeconds, 86 InvalidVaultExpiryDate,
87 InvalidTokenId, 88 InvalidTransferId, 89 InvalidNotificationFormat, 90 ValidationError,
91 TokenVerificationNotSupported, 92 InvalidAddress, 93 CardBlocked, 94 Timeout, 95 VisIsNotSupported,
96 TheOrderInformationIsInvalid, 97 MetadataDoesNotContainRequiredFields, 98 FraudIsNotSupported,
99 CardIsNotEnrolledForVis, 100 ProviderNotSupported, 101 InvalidBatch, 102 InvalidBatchData,
103 DirectDebitNotSupported, 104 InvalidSubscriptionId, 105 NoDataToUpdateThePaymentMethod,
106 PaymentMethodMustBeOfTypeCard, 107 UnableToUpdateThePaymentMethod, 108 UnableToUpdateSubscription,
109 UnableToCreateWebhookSubscription, 110 UnableToGetWebhookSubscription, 111 UnableToDeleteWebhookSubscription,
112 BlockedByFraudRules, 113 Require3DSecure, 114 UnableToCreateNetworkToken, 115 UnableToCreatePaymentLink,
116 InvalidPaymentLinkId, 117 InvalidFallbackProviderId, 901 ReferToCardIssuer,
902 ReferToCardIssuerSpecialConditions, 903 InvalidMerchant, 904 PickUpCard, 905 DoNotHonor, 906 Error,
907 PickUpCardSpecialCondition, 908 HonourWithIdentification, 909 RequestInProgress, 910 ApprovedForPartialAmount,
911 ApprovedVip, 912 InvalidTransaction, 913 IssuerInvalidAmount, 914 InvalidCardNumberNoSuchNumber,
915 NoSuchIssuer, 916 ApprovedUpdateTrack3, 917 CustomerCancellation, 918 CustomerDispute, 919 ReEnterTransaction,
920 InvalidResponse, 921 NoActionTaken, 922 SuspectedMalfunction, 923 UnacceptableTransactionFee,
924 FileUpdateNotSupportedByReceiver, 925 UnableToLocateRecordOnFile, 926 DuplicateFileUpdateRecordOldRecordReplaced,
927 FileUpdateFieldEditError, 928 FileUpdateFileLockedOut, 929 FileUpdateNotSuccessfulContactAcquirer,
930 FormatError, 931 BankNotSupportedBySwitch, 932 CompletedPartially, 933 ExpiredCardPickUp,
934 SuspectedFraudPickUp, 935 CardAcceptorContactAcquirerPickUp, 936 RestrictedCardPickUp,
937 CardAcceptorCallAcquirerSecurityPickUp, 938 AllowablePinTriesExceeded, 939 NoCreditAccount,
940 RequestedFunctionNotSupported, 941 LostCardPickUp, 942 NoUniversalAccount, 943 StolenCardPickUp,
944 NoInvestmentAccount, 951 IssuerInsufficientFunds, 952 NoCheckingAccount, 953 NoSavingsAccount,
954 IssuerExpiredCard, 955 IncorrectPersonalIdentificationNumber, 956 NoCardRecord,
957 TransactionNotPermittedToCardholder, 958 TransactionNotPermittedToTerminal, 959 SuspectedFraud,
960 CardAcceptorContactAcquirer, 961 ExceedsWithdrawalAmountLimit, 962 RestrictedCard, 963 SecurityViolation,
964 OriginalAmountIncorrect, 965 ExceedsWithdrawalFrequencyLimit, 966 CardAcceptorCallAcquirersSecurityDepartment,
967 HardCaptureRequiresCardPickUpAtAtm, 968 ResponseReceivedTooLate, 975 AllowableNumberOfPinTriesExceeded,
990 CutoffIsInProcess, 991 IssuerOrSwitchIsInoperative,
992 FinancialInstitutionOrIntermediateNetworkFacilityCannotBeFoundForRouting,
993 TransactionCannotBeCompletedViolationOfLaw, 994 DuplicateTransmission, 995 ReconcileError, 996 SystemMalfunction
"""
ROWS = {int(number): name for number, name in (row.split() for row in PUBLISHED.split(","))}


def folded(name: str) -> str:
    return name.replace("_", "").replace(" ", "").lower().replace("3d", "threed")


def test_every_published_code_is_there_under_its_number_and_name() -> None:
    assert len(ROWS) == 188
    assert {code.value: folded(code.name) for code in Code} == {
        number: folded(name) for number, name in ROWS.items()
    }


def test_numbers_are_not_shared() -> None:
    assert len(Code.__members__) == len(Code)


def test_a_message_is_the_name_in_separate_words() -> None:
    assert set(MESSAGES) == set(Code)
    for code, message in MESSAGES.items():
        assert folded(message) == folded(code.name)
        assert message[0].isupper() or message[0].isdigit()
        assert all(word[0].isupper() or word[0].isdigit() for word in message.split())


def test_messages_that_clients_compare() -> None:
    assert Code.INVALID_CARD_NUMBER.message == "Invalid Card Number"
    assert Code.INVALID_CCV.message == "Invalid CCV"
    assert Code.VALIDATION_ERROR.message == "Validation Error"
    assert Code(905).message == "Do Not Honor"
